import Foundation
package import GodwitModel

/// Mapping models that cannot be read. An inferred step in the place of one would lose what its author wrote.
extension MappingFinder {
  /// Refuses mapping models that cannot be read and may be for steps among some versions.
  ///
  /// The file names one of the versions. Or the file names no version, and lies where only the mapping models of these
  /// versions lie: beside their models, under `mapping-search`, in a folder with another of their
  /// mapping models, or in a project without other models.
  ///
  /// - Parameter versions: Oldest first: those that the path begins at, may go through, and leads to.
  /// - Throws: The error of the file, as 78 where the file is damaged.
  package func refuseUnreadable(among versions: [ManagedObjectModel]) throws {
    let found = try found(among: versions)
    let unreadable = found.mappings.filter { $0.problem != nil }
    guard !unreadable.isEmpty else { return }
    let served = found.mappings.filter { !Self.served(by: $0, among: versions).pairs.isEmpty }
    let folders = Set(served.map { Self.folder(of: $0.path) })
    for candidate in unreadable {
      guard let problem = candidate.problem else { continue }
      let outline = files.outline(candidate.path)
      let reason: String
      switch outline.concerns(versions) {
      case false?: continue
      case true?:
        let names = [outline.sourceModelName, outline.destinationModelName].compactMap(\.self).map { "'\($0)'" }
        reason =
          names.isEmpty
          ? "the file has version hashes of the models" : "the file names \(names.joined(separator: " and "))"
      case nil:
        guard
          candidate.isBeside || !named.isEmpty || !hasOtherModels
            || folders.contains(Self.folder(of: candidate.path))
        else { continue }
        reason = "the file does not say which models it is for, and lies where the mapping models of the job are"
      }
      throw Self.refusal(of: candidate.path, problem, reason: reason)
    }
  }

  private static func folder(of path: String) -> String {
    URL(filePath: path).standardizedFileURL.deletingLastPathComponent().path
  }

  /// The error of a file that is needed and cannot be read. A damaged file is an error in what the author wrote.
  static func refusal(of path: String, _ problem: GodwitError, reason: String) -> GodwitError {
    var error = problem
    if error.code == .missingInput { error.code = .configuration }
    let file = "mapping model '\(path)': \(reason)"
    error.cause = [error.cause, file].compactMap(\.self).joined(separator: "\n")
    error.remedy =
      [error.remedy, "if the job does not need the file, move it out of the project, or write `mapping-search`"]
      .compactMap(\.self).joined(separator: "; ")
    error.safe = error.safe ?? "no step was inferred in its place"
    return error
  }
}
