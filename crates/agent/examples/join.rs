//! Join a server as one device, and print each round in which this device took part.
//!
//! ```text
//! cargo run -p fedflip-agent --example join -- fl.example.org:7700 certs/devices/phone-01 data
//! ```

use std::path::Path;
use std::time::Duration;

use fedflip_agent::{AgentSettings, BuiltInTasks, Farewell, News, join_server, read_identity};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [server, identity, data_dir] = &args[..] else {
        return Err("usage: join SERVER IDENTITY_FOLDER DATA_FOLDER".into());
    };
    let settings = AgentSettings {
        server: server.clone(),
        credentials: read_identity(Path::new(identity))?,
        trains: BuiltInTasks::in_folder(data_dir),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: Some(Duration::from_secs(60)),
    };
    let mut print = |news: News| {
        if let News::TookPart { round, train_loss } = news {
            println!("round {round}: training loss {train_loss:.4}");
        }
    };
    match join_server(&settings, &|| false, &mut print)? {
        Farewell::Finished => println!("the run is over"),
        Farewell::Stopped => println!("stopped"),
    }
    Ok(())
}
