import Foundation
import GodwitJob
import GodwitModel

extension JobLoader {
  /// An error about a file that is not there, with the place of its path in the manifest and the folder it was looked
  /// for in.
  ///
  /// A manifest's paths are relative to its folder, which need not be the one that the command was started in.
  func tellingFolder(_ error: GodwitError) -> GodwitError {
    guard error.code == .missingInput else { return error }
    if let listed = tellingList(error) { return listed }
    if let remedy = manifest.alternativesRemedy, error.message.contains("'\(manifest.source.resolved)'") {
      var error = error
      (error.location, error.remedy) = (error.location ?? manifest.source.location, remedy)
      return error
    }
    let missing = manifest.inputPaths.first { _, path in
      !path.raw.hasPrefix("/") && error.message.contains("'\(Self.file(path.resolved))'")
        && !FileManager.default.fileExists(atPath: Self.file(path.resolved))
    }
    guard let (key, path) = missing else { return error }
    var error = error
    error.location = error.location ?? path.location
    let isOfOption = path.location.line == 0
    let inCurrent = isOfOption || manifest.file == YAMLFile.standardInput
    let folder =
      inCurrent
      ? FileManager.default.currentDirectoryPath
      : URL(filePath: manifest.file).deletingLastPathComponent().standardizedFileURL.path
    let told =
      "'\(key)' is '\(path.raw)', relative to the \(inCurrent ? "current" : "manifest's") folder '\(folder)'"
    error.cause = [error.cause, told].compactMap(\.self).joined(separator: "\n")
    let place = isOfOption ? "`\(path.location.file)`" : "'\(key)'"
    error.remedy = "correct \(place)"
    if key == "mappings", let word = mappingWord(like: path.raw) {
      error.message += " (did you mean '\(word)'?)"
      error.remedy = "write `mappings: \(word)`, or correct the path in \(place)"
    }
    return error
  }

  /// An error about a store that is not there, with the line of the list that names the store; nil for any other error.
  private func tellingList(_ error: GodwitError) -> GodwitError? {
    let (path, place) = (manifest.source.resolved, manifest.source.location)
    // Another place than the manifest, and no option of the command.
    guard place.line > 0, place.file != manifest.file, error.message.contains("'\(path)'"),
      FileStatus(following: path) == nil
    else { return nil }
    var error = error
    error.location = place
    let folder = URL(filePath: place.file).deletingLastPathComponent().standardizedFileURL.path
    error.remedy =
      "correct the line of the list, or remove it"
      + (path.isWholePath ? "" : "; a path in a list is relative to the folder of the list, '\(folder)'")
    return error
  }

  /// The word for `mappings` that a name was probably meant to be; nil for what looks like a path, and beside others.
  private func mappingWord(like name: String) -> String? {
    guard case .files(let files) = manifest.mappings, files.count == 1, !name.contains("/"), !name.contains(".") else {
      return nil
    }
    return Spelling.nearest(to: name, among: JobManifest.mappingKinds.map(\.word))
  }

  /// A path without the version that it names.
  private static func file(_ path: String) -> String {
    FileManager.default.fileExists(atPath: path) ? path : path.lastIndex(of: "#").map { String(path[..<$0]) } ?? path
  }

  /// An inferred step that loses what the versions between would keep, or puts it elsewhere.
  struct BetterStep {
    var source, destination: String
    /// The parts of the store that they would keep.
    var differences: [InferredLoss.Difference]
    /// The versions to go through, the destination not among them.
    var versions: [String]

    /// The parts that the single step loses.
    var lost: [String] { differences.filter { $0.direct == nil }.map(\.name) }

    static func list(_ texts: [String]) -> String {
      texts.prefix(4).joined(separator: ", ") + (texts.count > 4 ? " and \(texts.count - 4) more" : "")
    }
  }

  /// Hints at a better way: inferred steps that lose data which the versions between would keep, or put it elsewhere.
  func hints(_ steps: [MigrationStep], among versions: ModelVersions, order names: [String]) -> [String] {
    betterSteps(steps, among: versions, order: names).flatMap { step -> [String] in
      let stages = step.versions.map { "{step: \(MigrationPathFinder.yaml($0))}" }.joined(separator: ", ")
      let moved = step.differences.compactMap { part in
        part.direct.map { "\(part.name) becomes \($0), through them \(part.through)" }
      }
      let (title, remedy) = ("'\(step.source)' to '\(step.destination)' at once", "write `stages: [\(stages)]`")
      var hints: [String] = []
      if !step.lost.isEmpty {
        hints.append(
          "\(title) loses what the versions between would keep (\(BetterStep.list(step.lost))): \(remedy)")
      }
      if !moved.isEmpty {
        hints.append(
          "\(title) puts values elsewhere than the versions between (\(BetterStep.list(moved))): to go through them, \(remedy)"
        )
      }
      return hints
    }
  }

  func betterSteps(_ steps: [MigrationStep], among versions: ModelVersions, order names: [String]) -> [BetterStep] {
    steps.compactMap { step in
      guard step.isInferred, InferredLoss.isDoubtful(from: step.sourceModel, to: step.destinationModel) else {
        return nil
      }
      let passed = MappingFinder.namesBetween(step.sourceModel.name, step.destinationModel.name, in: names)
      guard passed.count > 2, passed.first == step.sourceModel.name else { return nil }
      let between = versions.readable(named: passed.dropFirst().dropLast())
      let differences = InferredLoss.differences(through: [step.sourceModel] + between + [step.destinationModel])
      guard !differences.isEmpty else { return nil }
      return BetterStep(
        source: step.sourceModel.name, destination: step.destinationModel.name, differences: differences,
        versions: between.map(\.name).withoutRepeats())
    }
  }
}

extension MigrationJob {
  /// The gain of a better way, as the plan says it.
  package var hints: [String] { mappingSearch.hints }

  /// An error about a loss, with the path that would avoid it.
  package func tellingHints(_ error: any Error) -> any Error {
    guard var known = error as? GodwitError, known.topic == .loss, !hints.isEmpty else { return error }
    known.cause = ([known.cause].compactMap(\.self) + hints).joined(separator: "\n")
    return known
  }
}
