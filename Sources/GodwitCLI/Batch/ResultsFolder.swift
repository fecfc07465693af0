import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore

/// The folder with what became of many stores: of each shard a file of JSON lines and a lock.
///
/// It is made and checked like a work folder: a marker file, names of its own alone, no links, of this user.
struct ResultsFolder: Sendable {
  let path: String

  private static let markerName = "made-by-godwit"

  /// Where the results of a manifest go.
  ///
  /// - Throws: 78 for a manifest from standard input that names no folder.
  init(_ manifest: JobManifest) throws {
    if let results = manifest.stores?.results {
      path = results.resolved
      return
    }
    guard manifest.file.first != "<" else {
      throw GodwitError(
        .configuration, "expected 'stores: {results: FOLDER}' in a manifest from standard input, found none",
        remedy: "add it", safe: "nothing was written")
    }
    let folder = manifest.file.lastIndex(of: "/").map { String(manifest.file[...$0]) } ?? ""
    let name = manifest.file.split(separator: "/").last.map(String.init) ?? manifest.file
    path = folder + (name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name) + ".results"
  }

  /// The folder of a manifest that has one; nil where results go nowhere.
  static func used(by manifest: JobManifest) throws -> ResultsFolder? {
    guard manifest.stores == nil else { return try ResultsFolder(manifest) }
    guard manifest.file.first != "<" else { return nil }
    let folder = try ResultsFolder(manifest)
    return folder.exists ? folder : nil
  }

  var exists: Bool { FileStatus(named: path) != nil }

  func resultsPath(_ shard: StoreShard) -> String { "\(path)/\(Self.name(shard)).jsonl" }
  private func lockPath(_ shard: StoreShard) -> String { "\(path)/\(Self.name(shard)).lock" }
  func attemptsPath(_ shard: StoreShard) -> String { "\(path)/\(Self.name(shard)).begun" }
  private static func name(_ shard: StoreShard) -> String { "\(shard.number)-of-\(shard.count)" }

  /// The shard that a file is of; nil for a name that is not ours.
  private static func shard(_ name: String, suffix: String) -> StoreShard? {
    guard name.hasSuffix(suffix) else { return nil }
    let stem = name.dropLast(suffix.count)
    guard let middle = stem.range(of: "-of-"),
      let shard = StoreShard("\(stem[..<middle.lowerBound])/\(stem[middle.upperBound...])"), Self.name(shard) == stem
    else { return nil }
    return shard
  }

  private static func isOwn(_ name: String) -> Bool {
    name == markerName || [".jsonl", ".lock", ".begun"].contains { shard(name, suffix: $0) != nil }
  }

  private func names() throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch {
      throw GodwitError(
        .inputOutput, "cannot read the results folder '\(path)'", cause: error.localizedDescription,
        remedy: "check the folder and run the same command")
    }
  }

  /// The shards that have results.
  func shards() throws -> [StoreShard] { try names().compactMap { Self.shard($0, suffix: ".jsonl") } }

  /// The shards on which a process works.
  func running() throws -> [StoreShard] {
    try names().compactMap { Self.shard($0, suffix: ".lock") }.filter {
      if case .held = try WorkFolder.lockState(ofFile: lockPath($0)) { true } else { false }
    }
  }

  /// Makes the folder if it is missing.
  ///
  /// - Parameter sources: The folder of the stores: the new one is no more readable.
  /// - Throws: 73 for what is there and is not ours; 74 and 77 when it cannot be made.
  func make(like sources: String) throws {
    let mode = FileRights.folderMode(like: sources.isEmpty ? "." : sources) & ~0o022
    if mkdir(path, mode_t(mode)) != 0 {
      let code = errno
      if code == ENOENT {
        try WorkFolder.makeFolder(path.parentPath)
        if mkdir(path, mode_t(mode)) != 0, errno != EEXIST { throw failure(errno) }
      } else if code != EEXIST {
        throw failure(code)
      }
    }
    try check()
    let marker = path + "/" + Self.markerName
    let descriptor = open(marker, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(errno) }
    close(descriptor)
  }

  private func failure(_ code: Int32) -> GodwitError {
    var error = GodwitError.disk("cannot make the results folder '\(path)'", errno: code)
    error.remedy = "check the folder and its permissions, and run the same command"
    return error
  }

  /// - Throws: 73 for a folder that is not ours.
  func check() throws {
    func foreign(_ why: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot use '\(path)' as the results folder: \(why)",
        remedy: "move it away, or name another folder with `stores: {results: FOLDER}`",
        safe: "nothing in it was changed")
    }
    guard let status = FileStatus(named: path) else { throw failure(errno) }
    if let why = status.reasonForeign { throw foreign(why) }
    let names = try names()
    guard names.isEmpty || names.contains(Self.markerName) else {
      throw foreign("Godwit did not make it: it has no file '\(Self.markerName)'")
    }
    for name in names {
      guard Self.isOwn(name) else { throw foreign("'\(path)/\(name)' in it is not Godwit's") }
      guard let status = FileStatus(named: path + "/" + name) else {
        // Another shard may have removed it since the folder was listed.
        if errno == ENOENT { continue }
        throw failure(errno)
      }
      guard status.isFile else { throw foreign("'\(path)/\(name)' is not a regular file") }
    }
  }

  /// Takes the lock of a shard, and writes this process into it.
  ///
  /// - Throws: 75 (`lock`) while another process works on the shard; 73, 74 or 77 when the file cannot be locked.
  func lock(_ shard: StoreShard) throws -> FileLock {
    let path = lockPath(shard)
    do {
      let lock = try FileLock(path: path, mode: 0o600)
      lock.noteHolder()
      return lock
    } catch {
      switch error {
      case .held(let holder):
        throw GodwitError(
          .stopped, "cannot run shard \(shard): another process works on it",
          cause: holder.map { "the lock is held by \($0.description)" },
          remedy: "wait for it to end, or run another shard", stopReason: .locked)
      case .unopened(let code), .failed(let code): throw GodwitError.disk("cannot lock '\(path)'", errno: code)
      case .replaced:
        throw GodwitError(
          .stopped, "cannot run shard \(shard): the results folder was replaced", remedy: "run the same command",
          stopReason: .locked)
      }
    }
  }
}
