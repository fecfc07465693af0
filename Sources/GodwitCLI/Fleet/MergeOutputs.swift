import Foundation
import GodwitFleet
import GodwitManifest
import GodwitModel
import GodwitPlatform

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

  /// Whether an earlier file of results is at the path.
  ///
  /// - Throws: 73 when something else is there.
  func replacesResults(_ path: String) throws -> Bool {
    try replaces(path, "one that `fleet merge --results` wrote") { FleetResult(line: $0) != nil }
  }

  /// Whether an earlier list of failed stores is at the path.
  ///
  /// - Throws: 73 when something else is there.
  func replacesList(_ path: String) throws -> Bool {
    try replaces(path, "a list of paths, each of which begins with '/'") { line in
      line.first == UInt8(ascii: "/") && !line.contains(0) && String(validating: line, as: UTF8.self) != nil
    }
  }

  /// So many lines are looked at.
  private static let linesLooked = 100

  private func replaces(_ path: String, _ expected: String, isOne: ([UInt8]) -> Bool) throws -> Bool {
    var info = stat()
    guard lstat(path, &info) == 0 else { return false }
    func refuse(_ found: String) -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot write '\(path)': expected no file, or \(expected), found \(found)",
        remedy: "name another file, or remove that one", safe: "nothing was written")
    }
    guard info.st_mode & S_IFMT == S_IFREG else { throw refuse("what is no ordinary file") }
    let folder = path.parentPath.isEmpty ? "." : path.parentPath
    let isOwn = ownFiles.contains { Self.isSame($0, path) } || ownFolders.contains { Self.isSame($0, folder) }
    guard !isOwn else { throw refuse("a file that the fleet needs") }
    // An older merge may have had nothing to write.
    guard info.st_size > 0 else { return true }
    do {
      let lines = try LineFile(path: path)
      for _ in 0..<Self.linesLooked {
        guard let line = try lines.next() else { break }
        guard isOne(line.bytes) else { throw refuse("another one") }
      }
    } catch let error as GodwitError where error.code == .dataWrong {
      throw refuse("another one")
    }
    return true
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
