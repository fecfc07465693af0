import GodwitJob
import GodwitModel

extension JobManifest {
  /// Finds out whether `source` is a pattern for many stores, and refuses what does not go with it.
  ///
  /// A file whose very name has a wildcard in it is one store, unless the destination asks for many. In place, a name
  /// with no wildcard but `[...]` is one store, whether it is there or not.
  mutating func readPattern() throws {
    let place = destination.path.map { StorePlaceholders($0.raw) }
    let asksForMany = place?.hasWords == true
    let hasWildcards = StorePattern.isPattern(source.raw)
    // In place nothing but the source says so. The brackets of one store's name must not lead to other stores on the
    // day that it is missing.
    let isPattern = isInPlace ? StorePattern.isOpenPattern(source.raw) : hasWildcards
    // A link that leads nowhere is there.
    let isThere = FileStatus(named: source.resolved) != nil
    isForManyStores = isList || merge.isEmpty && hasWildcards && (asksForMany || isPattern && !isThere)
    guard isForManyStores else { return try refusePlaceholders(place) }
    if destination.existing == .append {
      throw refusal(
        at: locations["destination"] ?? source.location,
        "expected one store beside 'existing: append', found the pattern '\(source.raw)'",
        remedy: "append each store with a command of its own: `--source FILE`")
    }
    if let place, let path = destination.path { try check(place, of: path, key: "destination") }
    if case .file(let path?) = receipt { try check(StorePlaceholders(path.raw), of: path, key: "receipt") }
    if file == YAMLFile.standardInput, locations["job"] == nil { job = "stores" }
  }

  private mutating func refusePlaceholders(_ place: StorePlaceholders?) throws {
    guard let place, let path = destination.path else { return }
    guard !place.hasWords else {
      throw refusal(
        at: path.location,
        "expected a pattern such as 'stores/*.sqlite' as 'source' beside '\(path.raw)' as 'destination', found '\(source.raw)'",
        remedy: alternativesRemedy
          ?? "to migrate one store, name its destination too: `--source FILE --destination FILE`; `{{name}}` stands for the text itself"
      )
    }
    if path.raw.contains("{{") { destination.path = ManifestPath(place.plain, location: path.location) }
  }

  /// The way to say `{a,b}`, which shells know and patterns do not; nil for a source without it.
  var alternativesRemedy: String? {
    guard source.raw.contains(#/\{[^{}\/]*,[^{}\/]*\}/#) else { return nil }
    return
      "'{a,b}' stands for itself in a pattern: write `[ab]` for one of several characters, or the paths into a file, one on each line, and `source: {list: FILE}`"
  }

  private func check(_ place: StorePlaceholders, of path: ManifestPath, key: String) throws {
    let words = StorePlaceholders.Word.allCases.map(\.rawValue)
    if let word = place.unknown.first {
      throw refusal(
        at: path.location,
        "unknown placeholder '{\(word)}' in '\(key)'" + Spelling.suggestion(for: word, among: words),
        remedy: "write one of {name}, {ext}, {file}, {folder}; `{{\(word)}}` stands for the text itself")
    }
    guard place.hasName else {
      throw refusal(
        at: path.location,
        "expected '{name}' in '\(key)' beside the pattern '\(source.raw)' as 'source', found '\(path.raw)'",
        remedy: "write for example `\(key): \"out/{name}.sqlite\"`")
    }
  }

  private func refusal(at location: GodwitError.Location, _ message: String, remedy: String) -> GodwitError {
    GodwitError(.configuration, message, location: location, remedy: remedy, safe: "nothing was written")
  }
}
