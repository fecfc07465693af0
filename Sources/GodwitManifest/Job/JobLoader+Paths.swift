import Foundation
import Godwit
import GodwitInference
import GodwitJob
import GodwitModel

extension JobLoader {
  /// An error about a file that is not there, with the place of its path in the manifest and the folder it was looked for in.
  ///
  /// A manifest's paths are relative to its folder, which need not be the one that the command was started in.
  func tellingFolder(_ error: GodwitError) -> GodwitError {
    guard error.code == .missingInput else { return error }
    let missing = manifest.inputPaths.first { _, path in
      !path.raw.hasPrefix("/") && error.message.contains("'\(Self.file(path.resolved))'")
        && !FileManager.default.fileExists(atPath: Self.file(path.resolved))
    }
    guard let (key, path) = missing else { return error }
    var error = error
    error.location = error.location ?? path.location
    let folder = URL(filePath: manifest.file).deletingLastPathComponent().standardizedFileURL.path
    let told = "'\(key)' is '\(path.raw)', relative to the manifest's folder '\(folder)'"
    error.cause = [error.cause, told].compactMap(\.self).joined(separator: "\n")
    error.remedy = "correct '\(key)'"
    return error
  }

  /// A path without the version that it names.
  private static func file(_ path: String) -> String {
    FileManager.default.fileExists(atPath: path) ? path : path.lastIndex(of: "#").map { String(path[..<$0]) } ?? path
  }

  /// What a way may do better: inferred steps that lose what the versions between would keep.
  func hints(_ steps: [MigrationStep], among versions: ModelVersions, order names: [String]) -> [String] {
    steps.compactMap { step in
      guard step.isInferred, InferredLoss.losesNames(from: step.sourceModel, to: step.destinationModel) else {
        return nil
      }
      let passed = Self.namesBetween(step.sourceModel.name, step.destinationModel.name, in: names)
      guard passed.count > 2, passed.first == step.sourceModel.name else { return nil }
      let between = versions.readable(named: passed.dropFirst().dropLast())
      let kept = InferredLoss.keptThrough([step.sourceModel] + between + [step.destinationModel])
      guard !kept.isEmpty else { return nil }
      var seen: Set<String> = []
      let stages = between.map(\.name).filter { seen.insert($0).inserted }
        .map { "{step: \(MigrationPathFinder.yaml($0))}" }.joined(separator: ", ")
      let told = kept.prefix(4).joined(separator: ", ") + (kept.count > 4 ? " and \(kept.count - 4) more" : "")
      return
        "'\(step.sourceModel.name)' to '\(step.destinationModel.name)' at once loses what the versions between would keep (\(told)): write `stages: [\(stages)]`"
    }
  }
}

extension MigrationJob {
  /// What a better way would keep, as the plan says it.
  package var hints: [String] { mappingSearch.filter { $0.contains("write `stages: [") } }

  /// An error about what does not come over, with the way that would keep it.
  package func tellingHints(_ error: any Error) -> any Error {
    guard var known = error as? GodwitError, known.code == .dataWrong, !hints.isEmpty,
      known.message.hasPrefix("no object of ") || known.message.hasSuffix("would lose data of the source")
    else { return error }
    known.cause = ([known.cause].compactMap(\.self) + hints).joined(separator: "\n")
    return known
  }
}
