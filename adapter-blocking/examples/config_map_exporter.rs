//! Keeps the config maps of a namespace as files in a folder: a finalizer, a second look after a while, and an orderly stop.
//! `cargo run -p sanskube-blocking --example config_map_exporter -- http://127.0.0.1:8080 default FOLDER`
use std::fs::{read_to_string, remove_file, write};
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use sanskube::client::{Api, Finalizer, Finalizing};
use sanskube::controller::{Cache, Controller, Result, When};
use sanskube::error::Misuse;
use sanskube::key::Key;
use sanskube_blocking::{Client, Runner, Server};

/// No config map goes before its file.
const FINALIZER: Finalizer = Finalizer("example.com/exported");

/// Adds the controller to a runner. Each file is looked at so often, whether or not its config map changes.
pub fn add(runner: &Runner, namespace: &str, folder: PathBuf, every: Duration) -> std::result::Result<(), Misuse> {
    let maps = runner.watch::<ConfigMap>(Api::<ConfigMap>::in_namespace(namespace));
    let controller = Controller::new("exporter", maps.watch());
    runner.add(controller, move |key, maps, client| export(&key, &maps, &client, &folder, every))?;
    Ok(())
}

fn export(key: &Key, maps: &Cache<ConfigMap>, client: &Client, folder: &Path, every: Duration) -> Result {
    let Some(map) = maps.get(key) else { return Ok(When::Changed) };
    let (api, file) = (Api::<ConfigMap>::in_namespace(key.namespace()), folder.join(key.name()));
    match FINALIZER.of(&map.metadata) {
        Finalizing::Add(patch) => drop(client.send(api.patch(key.name(), &patch))?),
        Finalizing::CleanUp(patch) => {
            remove_file(&file).or_else(|e| if e.kind() == NotFound { Ok(()) } else { Err(e) })?;
            client.send(api.patch(key.name(), &patch))?;
        }
        Finalizing::Ended => {}
        Finalizing::Live => {
            let text = serde_json::to_string_pretty(&map.data)?;
            if read_to_string(&file).ok().as_ref() != Some(&text) {
                write(&file, text)?;
            }
            return Ok(When::After(every));
        }
    }
    Ok(When::Changed)
}

#[allow(dead_code, reason = "the tests use the rest")]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, namespace, folder] = &args[..] else {
        return Err("usage: config_map_exporter URL NAMESPACE FOLDER".into());
    };
    let runner = Runner::new(&Client::new(Server::new(url), 4))?;
    add(&runner, namespace, folder.into(), Duration::from_secs(10))?;
    let stopper = runner.stopper();
    println!("press Enter to stop");
    std::thread::spawn(move || std::io::stdin().read_line(&mut String::new()).map(|_| stopper.stop()));
    runner.run();
    Ok(())
}
