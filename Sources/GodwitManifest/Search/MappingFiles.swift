import Foundation
import GodwitModel
import GodwitXcode
import Synchronization

/// The files around some models for all that one command does: each place is searched once, and each file read once.
package final class MappingFiles: Sendable {
  private struct File: Sendable {
    /// Empty after the file was parsed.
    var bytes: Result<[UInt8], any Error>
    var outline: MappingOutline?
    var mapping: Result<ListedMapping, any Error>?
  }

  private struct State {
    var bundles: [Text: String] = [:]
    var besideModels: [[Text]: MappingSearch] = [:]
    var inFolders: [[Text]: MappingSearch] = [:]
    var files: [Text: File] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  private func cached<Key: Hashable & Sendable, Value: Sendable>(
    _ place: WritableKeyPath<State, [Key: Value]>, _ key: Key, _ make: () -> Value
  ) -> Value {
    state.withLock { state in
      if let known = state[keyPath: place][key] { return known }
      let made = make()
      state[keyPath: place][key] = made
      return made
    }
  }

  /// The model that a path stands for: the one in a folder, or the path itself.
  package func model(at path: String) -> String {
    cached(\.bundles, Text(path)) { ModelSearch.modelOrPath(ModelReference(parsing: path).path) }
  }

  package func search(besideModels models: [String]) -> MappingSearch {
    cached(\.besideModels, models.map { Text($0) }) { MappingSearch(besideModels: models) }
  }

  package func search(inFolders folders: [String]) -> MappingSearch {
    cached(\.inFolders, folders.map { Text($0) }) { MappingSearch(inFolders: folders) }
  }

  /// A mapping model.
  ///
  /// - Throws: Why it cannot be read.
  package func mapping(_ path: String) throws -> ListedMapping {
    try file(path) { file in
      if let known = file.mapping { return known }
      let made = Result { try ListedMapping(bytes: file.bytes.get(), path: path) }
      if case .failure = made, file.outline == nil { file.outline = Self.outline(of: file, path) }
      (file.mapping, file.bytes) = (made, .success([]))
      return made
    }.get()
  }

  /// The models that a mapping model names, whether or not the rest of the file can be read.
  package func outline(_ path: String) -> MappingOutline {
    file(path) { file in
      let made = file.outline ?? Self.outline(of: file, path)
      file.outline = made
      return made
    }
  }

  private static func outline(of file: File, _ path: String) -> MappingOutline {
    MappingOutline(try? file.bytes.get(), of: path)
  }

  private func file<Value: Sendable>(_ path: String, _ use: (inout File) -> Value) -> Value {
    let key = Text(URL(filePath: path).standardizedFileURL.path)
    return state.withLock { state in
      var file = state.files[key] ?? File(bytes: Result { try ListedMapping.bytes(at: path) })
      let value = use(&file)
      // A disk that fails may work for the next store.
      if case .failure(let error as GodwitError)? = file.mapping, error.code == .inputOutput { return value }
      state.files[key] = file
      return value
    }
  }
}
