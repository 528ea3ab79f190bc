//! Somebody adds a kernel whose files were put before.

use blklab_model::kernel::{AS_BOOTED, Blob, KernelRecord};
use blklab_wire::people::AddKernel;

use super::{KernelError, check_blobs};
use crate::lab::Lab;
use crate::store;

/// Adds a kernel; false when it was here already. The same signature under the same name is the same kernel.
pub async fn add(lab: &Lab, add: AddKernel) -> Result<(KernelRecord, bool), KernelError> {
    check(&add)?;
    let mut tx = lab.store.write().await?;
    if let Some(known) = store::kernel_get(&mut tx, &add.name).await? {
        return if known.id == add.id { Ok((known, false)) } else { Err(KernelError::Taken { name: add.name, id: known.id }) };
    }
    let builds = store::build_list_open(&mut tx).await?;
    if let Some(build) = builds.iter().find(|build| build.request.name == add.name) {
        return Err(KernelError::BeingBuilt { name: add.name, build: build.id });
    }
    check_blobs(lab, named(&add.image, add.modules.as_ref(), add.config.as_ref())).await?;
    let record = KernelRecord {
        name: add.name,
        id: add.id,
        release: add.release,
        build_id: add.build_id,
        source: add.source,
        toolchain: add.toolchain,
        image: add.image,
        modules: add.modules,
        arguments: add.arguments,
        config: add.config,
        log: None,
        created: lab.now(),
    };
    store::kernel_insert(&mut tx, &record).await?;
    tx.commit().await?;
    lab.changed();
    tracing::info!(kernel = %record.name, release = %record.release, "kernel added");
    Ok((record, true))
}

/// The files of a kernel with words for messages.
pub(crate) fn named(image: &Blob, modules: Option<&Blob>, config: Option<&Blob>) -> Vec<(&'static str, Blob)> {
    let files = [("its image", Some(image)), ("its modules", modules), ("its configuration", config)];
    files.into_iter().filter_map(|(what, blob)| Some((what, blob?.clone()))).collect()
}

fn check(add: &AddKernel) -> Result<(), KernelError> {
    let bad = |message: &str| Err(KernelError::Bad(format!("kernel `{}`: {message}", add.name)));
    if add.name.as_str() == AS_BOOTED {
        return bad("experiment files mean by this name whatever a host has booted");
    }
    check_arguments(&add.arguments).or_else(|message| bad(&message))?;
    check_identity(add.id.as_str(), &add.release, &add.build_id).or_else(|message| bad(&message))
}

/// Longest text of words for a kernel's command line; x86 takes 2048 characters in all (COMMAND_LINE_SIZE).
const MAX_ARGUMENTS: usize = 1024;

/// The lab's own words prove which boot it was.
fn check_arguments(arguments: &str) -> Result<(), String> {
    let is_ours = arguments.split_whitespace().any(|word| word.trim_start_matches('"').starts_with("blklab."));
    if arguments.len() > MAX_ARGUMENTS || arguments.chars().any(char::is_control) || is_ours {
        return Err(format!("words for its command line: one line of at most {MAX_ARGUMENTS} characters, none beginning with `blklab.`"));
    }
    Ok(())
}

/// What a host must prove, in the form in which it can prove it.
pub(crate) fn check_identity(id: &str, release: &str, build_id: &str) -> Result<(), String> {
    if id.len() != 64 {
        return Err("its id is not 64 hexadecimal digits".to_owned());
    }
    // The release names a folder below /lib/modules.
    if release.is_empty() || release.len() > 64 || release.contains(['/', ' ', '\n', '\0']) || release.starts_with('.') {
        return Err(format!("`{}` is no release of a kernel (`uname -r`)", release.escape_default()));
    }
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if build_id.len() < 16 || build_id.len() % 2 == 1 || !build_id.bytes().all(is_digit) {
        return Err(
            "its build id is not an even number of at least 16 lower-case hexadecimal digits; without one no host can prove what it runs \
                    (build with --build-id, the default of the kernel's Makefile)"
                .to_owned(),
        );
    }
    Ok(())
}
