import Foundation
import GodwitFleet
import GodwitManifest
import GodwitModel
import GodwitPlatform
import GodwitStore

/// The files that `fleet merge` writes. What another merge wrote is replaced, and nothing else: a wrong path must not
/// cost a store, or the list of them.
struct MergeOutputs {
  private let fleet: FleetManifest
  /// The path of each, by its option.
  private let paths: [(option: String, path: String)]

  init(_ fleet: FleetManifest, page: String?, results: String?, retryList: String?) {
    self.fleet = fleet
    let all: [(String, String?)] = [("-o", page), ("--results", results), ("--retry-list", retryList)]
    paths = all.compactMap { option, path in path.map { (option: option, path: $0) } }
  }

  /// - Throws: 64 when two of the files are one.
  func refuseSameFiles() throws {
    for (place, one) in paths.enumerated() {
      for other in paths[..<place] where Self.isSame(one.path, other.path) {
        throw GodwitError(
          .usage, "\(other.option) and \(one.option) name the same file, '\(one.path)'", remedy: "name two files",
          safe: "nothing was written")
      }
    }
  }

  /// Where the results of all stores go. An older merge may have had nothing to write.
  func results(_ path: String) throws -> OutputFile {
    try refuseOwn(path)
    return OutputFile(path, "results that `fleet merge` wrote", option: "--results") { head in
      let lines = head.split(separator: 0x0A)
      // The last of several may be cut off here.
      return head.isEmpty || lines.count == 1 && head.starts(with: "{\"type\":\"store\"".utf8)
        || lines.first.flatMap { FleetResult(line: Array($0)) } != nil
    }
  }

  /// Where the list of failed stores goes. That an older one has stores of the fleet alone is checked by its lines.
  func list(_ path: String) throws -> OutputFile {
    try refuseOwn(path)
    return OutputFile(path, "a list of paths, each of which begins with '/'", option: "--retry-list") {
      $0.isEmpty || $0.first == UInt8(ascii: "/") && !$0.contains(0)
    }
  }

  /// The lines of a list at a path; none without one.
  func lines(of path: String) throws -> Set<[UInt8]> {
    var info = stat()
    guard lstat(path, &info) == 0 else { return [] }
    let file = try LineFile(path: path)
    var lines: Set<[UInt8]> = []
    while let line = try file.next() { lines.insert(line.bytes) }
    return lines
  }

  /// The error for a list that has a line which is no store of the fleet.
  func foreign(_ line: [UInt8], in path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write the list of failed stores to '\(path)': what is there is another file",
      cause: "its line '\(String(decoding: line, as: UTF8.self))' is no store of the fleet",
      remedy: "name another file, or remove that one", safe: "nothing was written")
  }

  private func refuseOwn(_ path: String) throws {
    let folder = path.parentPath.isEmpty ? "." : path.parentPath
    let isOwn = ownFiles.contains { Self.isSame($0, path) } || ownFolders.contains { Self.isSame($0, folder) }
    guard isOwn else { return }
    throw GodwitError(
      .cannotCreate, "cannot write '\(path)': the fleet needs the file", remedy: "name another file",
      safe: "nothing was written")
  }

  /// What a fleet is read from, and what looks like an output of a merge.
  private var ownFiles: [String] {
    let list: [String] = if case .list(let path) = fleet.stores { [path.resolved] } else { [] }
    return list + [fleet.file, fleet.job.resolved, fleet.place.planPath, fleet.place.unreadablePath]
  }

  private var ownFolders: [String] { ["shards", "results"].map { "\(fleet.place.path)/\($0)" } }

  /// Whether two paths lead to one file, or would.
  private static func isSame(_ one: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    if stat(one, &first) == 0, stat(other, &second) == 0 {
      return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
    return Array(FleetPaths.absolute(one).utf8) == Array(FleetPaths.absolute(other).utf8)
  }
}
