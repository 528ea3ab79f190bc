//! Serves a disk model until its standard input ends: `serve-disk PRESET|FILE IMAGE MIB SOCKET [SLOWDOWN]`.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use blklab_diskmodel::{DiskModel, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, image, mib, socket, rest @ ..] = arguments.as_slice() else {
        return Err("usage: serve-disk PRESET|FILE IMAGE MIB SOCKET [SLOWDOWN]".into());
    };
    let model = DiskModel::preset(model).map_or_else(|| DiskModel::load(Path::new(model)), Ok)?;
    let slowdown = rest.first().map_or(Ok(1.0), |text| text.parse())?;
    let backing = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(image)?;
    let server = Server::start(Path::new(socket), backing, mib.parse::<u64>()? << 20, &model.slowed(slowdown), 1)?;
    println!("serving {}", server.socket().display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    println!("{:#?}", server.stats());
    Ok(())
}
