import GodwitManifest
import GodwitModel

/// The things that a machine must have before it works on a shard: the folders of the stores and of the destinations, and the
/// models.
///
/// A mount that is away makes every store of a shard fail, in milliseconds, with nothing wrong in any of them.
struct MachineCheck: @unchecked Sendable {
  /// Shares nothing with loaders of other threads.
  private let loader: JobLoader
  private let identity: String
  /// Whether a store of the shard was migrated before.
  private let hasResults: Bool

  init(_ loader: JobLoader, identity: String, hasResults: Bool) {
    (self.loader, self.identity, self.hasResults) = (loader.alone, identity, hasResults)
  }

  /// - Throws: 74 when no store could be read, or no destination made, on this machine.
  func check() throws {
    if !loader.manifest.isList {
      let root = loader.storesRoot.isEmpty ? "." : loader.storesRoot
      guard try !Self.isEmpty(root, "the folder of the stores") else {
        throw Self.trouble("there is nothing in the folder of the stores, '\(root)'")
      }
    }
    try checkDestinations()
    guard (try? loader.resultsIdentity()) == identity else {
      throw Self.trouble("the manifest, the models or the mapping models cannot be read, or have changed")
    }
  }

  private func checkDestinations() throws {
    guard let root = loader.destinationRoot else { return }
    var folder = root.isEmpty ? "." : root
    if FileStatus(following: folder) == nil {
      let code = errno
      guard code == ENOENT, !hasResults else {
        throw Self.trouble("the folder of the destinations, '\(folder)', is away", String(cString: strerror(code)))
      }
      while FileStatus(following: folder) == nil, errno == ENOENT {
        let parent = folder.parentPath
        folder = parent.isEmpty ? "." : parent
      }
    } else if hasResults, try Self.isEmpty(folder, "the folder of the destinations") {
      throw Self.trouble("there is nothing in the folder of the destinations, '\(folder)', and there was before")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw Self.trouble("cannot make destinations in '\(folder)'", String(cString: strerror(errno)))
    }
  }

  private static func isEmpty(_ path: String, _ what: String) throws -> Bool {
    guard let folder = opendir(path) else {
      throw trouble("cannot read \(what), '\(path)'", String(cString: strerror(errno)))
    }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { return false }
    }
    return true
  }

  private static func trouble(_ message: String, _ cause: String? = nil) -> GodwitError {
    GodwitError(
      .inputOutput, message, cause: cause,
      remedy:
        "check the mounts and the rights of this machine, and run the same command; if you removed the destinations, remove the results folder too",
      safe: "no store counts as failed because of it")
  }

  /// Whether a store failed by something that is not in it: then nothing is recorded.
  ///
  /// - Returns: The fault of the machine; nil if it has all that a store needs.
  func trouble(_ error: GodwitError) -> GodwitError? {
    if error.topic == .diskFull {
      return GodwitError(
        .inputOutput, "stopped the shard: the disk is full", remedy: "free disk space and run the same command",
        safe: "no store counts as failed because of it")
    }
    guard [.inputOutput, .permission, .missingInput, .cannotCreate].contains(error.code) else { return nil }
    do { try check() } catch { return GodwitCommand.known(error) }
    return nil
  }
}
