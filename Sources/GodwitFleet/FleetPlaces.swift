package import GodwitManifest
import GodwitModel
import GodwitPlatform

/// What a machine must have before it works on a shard: the folders of the stores and of the destinations.
///
/// A mount that is away makes every store of a shard fail, in milliseconds, with nothing wrong in any of them.
package struct FleetPlaces: Sendable {
  /// The fixed part of the pattern; nil where a list names the stores.
  private let stores: String?
  /// The fixed part of the destinations; nil in place.
  private let destinations: String?
  /// Is there since a process of the fleet found the folder of the destinations.
  private let note: String

  package init(stores: String?, destinations: String?, folder: FleetFolder) {
    func named(_ path: String) -> String { path.isEmpty ? "." : path }
    (self.stores, self.destinations, note) = (stores.map(named), destinations.map(named), folder.destinationNotePath)
  }

  /// - Parameter loader: The job's loader, with the pattern of the fleet.
  package init(_ fleet: FleetManifest, job loader: JobLoader, folder: FleetFolder) {
    let stores: String? =
      switch fleet.stores {
      case .ofJob, .pattern: loader.storePattern.root
      case .list, .standardInput: nil
      }
    self.init(stores: stores, destinations: loader.destinationRoot, folder: folder)
  }

  /// - Throws: `.inputOutput` (74) when no store of the fleet could be read, or made, on this machine.
  package func check() throws {
    try checkStores()
    try checkDestinations()
  }

  /// - Throws: 74 when the folder of the stores cannot be read, or has nothing in it, as where a mount is away.
  package func checkStores() throws {
    guard let stores else { return }
    guard let folder = opendir(stores) else {
      throw Self.trouble("cannot read the folder of the stores, '\(stores)'", String(cString: strerror(errno)))
    }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { return }
    }
    throw Self.trouble("there is nothing in the folder of the stores, '\(stores)'")
  }

  /// - Throws: 74 when no destination can be made. A folder that is missing is made, unless it was there before.
  private func checkDestinations() throws {
    guard let destinations else { return }
    var info = stat()
    guard stat(destinations, &info) == 0 else {
      let code = errno
      guard code == ENOENT else {
        throw Self.trouble(
          "cannot look at the folder of the destinations, '\(destinations)'", String(cString: strerror(code)))
      }
      guard lstat(note, &info) != 0 else {
        throw Self.trouble(
          "the folder of the destinations, '\(destinations)', is missing, and was there before",
          remedy: "mount it and run the same command; if it was removed, plan again with `godwit fleet plan --force`")
      }
      var parent = destinations.parentPath
      while !parent.isEmpty, parent != "/", stat(parent, &info) != 0, errno == ENOENT { parent = parent.parentPath }
      return try Self.checkWritable(parent.isEmpty ? "." : parent)
    }
    try Self.checkWritable(destinations)
    if lstat(note, &info) != 0 { noteDestinations() }
  }

  private static func checkWritable(_ folder: String) throws {
    var info = stat()
    guard stat(folder, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
      throw trouble("cannot make destinations in '\(folder)': it is no folder")
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw trouble("cannot make destinations in '\(folder)'", String(cString: strerror(errno)))
    }
  }

  /// Notes that the folder of the destinations is there, for processes that do not find it.
  package func noteDestinations() {
    var info = stat()
    guard let destinations, stat(destinations, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { return }
    let descriptor = open(note, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
    if descriptor >= 0 { close(descriptor) }
  }

  private static func trouble(_ message: String, _ cause: String? = nil, remedy: String? = nil) -> GodwitError {
    GodwitError(
      .inputOutput, message, cause: cause,
      remedy: remedy ?? "check the mounts and the rights of this machine, and run the same command",
      safe: "no store counts as failed because of it")
  }
}
