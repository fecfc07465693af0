import Foundation
import GodwitJob
import GodwitModel
import GodwitXcode

extension JobLoader {
  /// The pattern of a manifest for many stores, without the folder that it is relative to.
  package var storePattern: StorePattern { StorePattern(manifest.source.raw, in: manifest.source.folder) }

  /// The folder that has the destinations of all stores; nil in place. Empty for the current one.
  package var destinationRoot: String? {
    guard let path = manifest.destination.path else { return nil }
    return path.folder + StorePlaceholders(path.raw).fixedFolder
  }

  /// The digest of what decides the result of a job beside its store: the program's version, the manifest, the models,
  /// and all mapping models that may be taken. The results of another one do not count.
  ///
  /// - Throws: 66 when one of the files is missing, or the error of reading it.
  package func resultsIdentity() throws -> String {
    var digest = FileTreeDigest()
    digest.note(Receipt.godwitVersion)
    digest.note(manifest.decisiveText)
    for path in manifest.models + manifest.mergeModels {
      try digest.add(ModelSearch.modelOrPath(ModelReference(parsing: path.resolved).path))
    }
    if case .files(let paths) = manifest.mappings { for path in paths { try digest.add(path.resolved) } }
    if [.auto, .modelsOnly].contains(manifest.mappings) {
      for path in finder.searchedFiles.sorted() { try digest.add(path) }
    }
    if let path = manifest.layout?.from { try digest.add(path.resolved) }
    return digest.finish().prefix(16).hex
  }
}

extension JobManifest {
  /// The text of all that may decide the result of a store, places in the file included. Memory, chunks, commands and
  /// what holds for many stores as a whole decide nothing.
  fileprivate var decisiveText: String {
    var manifest = self
    (manifest.file, manifest.memory, manifest.chunks, manifest.stores) = ("", .mebibytes(64), Chunks(), nil)
    (manifest.onSuccess, manifest.onFailure, manifest.locations) = ([], [], [:])
    return String(describing: manifest)
  }
}

/// A digest of files, and of folders with everything below them.
struct FileTreeDigest {
  private var sum = SHA256()

  /// Adds the bytes of a file, or the names and bytes of all files below a folder in the order of their names.
  ///
  /// The path itself does not count: machines may have the files in different places.
  mutating func add(_ path: String) throws {
    guard FileStatus(following: path) != nil else {
      let code = errno
      throw GodwitError(
        [EACCES, EPERM].contains(code) ? .permission : .missingInput,
        "cannot read '\(path)': \(String(cString: strerror(code)))", remedy: "check the path")
    }
    try add(path, named: path.split(separator: "/").last.map(String.init) ?? path, depth: 0)
  }

  private mutating func add(_ path: String, named name: String, depth: Int) throws {
    guard depth < 64, let status = FileStatus(following: path) else { return }
    func failed(_ error: any Error) -> GodwitError {
      GodwitError(
        .inputOutput, "cannot read '\(path)'", cause: error.localizedDescription, remedy: "run the same command again")
    }
    switch status.kind {
    case .folder:
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: path).filter(Self.counts) } catch {
        throw failed(error)
      }
      note("folder \(name) \(names.count)")
      for child in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
        try add(path + "/" + child, named: child, depth: depth + 1)
      }
    case .file:
      note("file \(name) \(status.size)")
      guard let file = FileHandle(forReadingAtPath: path) else {
        throw GodwitError(.permission, "cannot read '\(path)'", remedy: "check its permissions")
      }
      defer { try? file.close() }
      do {
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty { sum.update(data: piece) }
      } catch { throw failed(error) }
    default: note("other \(name)")
    }
  }

  /// Editors, NFS and Apple's systems leave files with a dot. Only Xcode's choice of a version among them matters.
  private static func counts(_ name: String) -> Bool { !name.hasPrefix(".") || name == ".xccurrentversion" }

  mutating func note(_ text: String) { sum.update(data: Array(text.utf8) + [0]) }

  mutating func finish() -> [UInt8] { sum.finalize() }
}
