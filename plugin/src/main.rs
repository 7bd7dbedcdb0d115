//! `gpulab-plugin`: the lab's device plugin beside a kubelet, until it is told to end.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use gpulab_device::Inventory;
use gpulab_plugin::control::Control;
use gpulab_plugin::{Options, PLUGIN_DIRECTORY, Plugin, PluginError, RESOURCE, SharedInventory};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Advertises simulated devices to a kubelet and changes their health over HTTP.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The extended resource to register.
    #[arg(long, default_value = RESOURCE)]
    resource: String,
    /// How many devices there are, named sim-gpu-0 and on.
    #[arg(long, default_value_t = 4, conflicts_with = "ids", value_name = "N")]
    devices: u16,
    /// The devices by name, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    ids: Vec<String>,
    /// The kubelet's plugin directory.
    #[arg(long, default_value = PLUGIN_DIRECTORY, value_name = "DIR")]
    plugin_dir: PathBuf,
    /// File name of the plugin's own socket in that directory.
    #[arg(long, default_value = "gpulab.sock", value_name = "NAME")]
    socket: String,
    /// Where the health API listens; loopback only.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    control: SocketAddr,
}

/// What ends the plugin early, with its exit code.
type Failure = (u8, Box<dyn Error>);

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(run(args)),
        Err(error) => Err((70, error.into())),
    };
    let Err((code, error)) = outcome else { return ExitCode::SUCCESS };
    say(&format!("error: {error}"));
    let mut cause = error.source();
    while let Some(error) = cause {
        say(&format!("  because: {error}"));
        cause = error.source();
    }
    ExitCode::from(code)
}

async fn run(args: Args) -> Result<(), Failure> {
    let inventory =
        if args.ids.is_empty() { Ok(Inventory::lab(args.devices.into())) } else { Inventory::new(args.ids) };
    let inventory = SharedInventory::new(inventory.map_err(|error| (2, error.into()))?);
    let control = Control::bind(args.control, &args.resource, inventory.clone()).await;
    let control = control.map_err(|error| (2, error.into()))?;
    let mut ends = signal(SignalKind::terminate()).map_err(|error| (70, error.into()))?;
    let options = Options {
        directory: args.plugin_dir,
        endpoint: args.socket,
        resource: args.resource.clone(),
        look_every: Duration::from_secs(1),
    };
    let count = inventory.snapshot().devices().len();
    let mut plugin = Plugin::start(options, inventory).await.map_err(|error| (exit_code(&error), error.into()))?;
    say(&format!("registered {count} devices of {}", args.resource));
    if let Ok(address) = control.address() {
        say(&format!("health API at http://{address}/devices"));
    }
    let stop = CancellationToken::new();
    let control = tokio::spawn(control.serve(stop.clone()));
    tokio::select! {
        () = plugin.keep(&stop) => {}
        _ = tokio::signal::ctrl_c() => {}
        _ = ends.recv() => {}
    }
    stop.cancel();
    plugin.stop().await;
    control.await.map_err(|error| (70, error.into()))
}

fn exit_code(error: &PluginError) -> u8 {
    match error {
        PluginError::NoKubelet { .. } | PluginError::Refused { .. } => 4,
        PluginError::Socket { .. } => 1,
    }
}

/// Talk goes to standard error; that it cannot be written is nothing to end for.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
