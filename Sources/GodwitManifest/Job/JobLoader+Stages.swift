import Foundation
import GodwitJob
import GodwitModel

/// `stages`: shell commands before and after the step that leads to a version.
extension JobLoader {
  /// - Throws: 78 when a stage names a version that no model has.
  func stages(among names: [String]) throws -> [MigrationStage] {
    try manifest.stages.map { stage in
      guard names.contains(stage.step.value) else {
        throw GodwitError(
          .configuration,
          "stages names the unknown version '\(stage.step.value)'"
            + Spelling.suggestion(for: stage.step.value, among: names),
          location: stage.step.location, cause: "the versions are " + names.map { "'\($0)'" }.joined(separator: ", "),
          remedy: "name the version that the step leads to")
      }
      var made = MigrationStage.custom(
        to: stage.step.value, willMigrate: hook(stage.before), didMigrate: hook(stage.after))
      made.location = stage.step.location
      return made
    }
  }

  private func hook(_ command: Located<String>?) -> MigrationStage.Hook? {
    let folder = URL(filePath: manifest.file).deletingLastPathComponent().path
    return command.map { command in
      MigrationStage.Hook(command.value) { [hookOutput] in
        try Self.run(command, in: folder, context: $0, output: hookOutput)
      }
    }
  }

  /// The way of another store, with the hooks of this one: what they print says which store it is about.
  func ownHooks(_ way: JobWay) -> JobWay {
    var way = way
    for stage in manifest.stages {
      for index in way.steps.indices where way.steps[index].destinationModel.name == stage.step.value {
        if way.steps[index].willMigrate != nil { way.steps[index].willMigrate = hook(stage.before) }
        if way.steps[index].didMigrate != nil { way.steps[index].didMigrate = hook(stage.after) }
      }
    }
    return way
  }

  /// Runs a command in the manifest's folder; what it prints goes to standard error.
  ///
  /// - Throws: 74 when it cannot be started or does not end with 0: the same command resumes.
  private static func run(
    _ command: Located<String>, in folder: String, context: MigrationStage.Context, output: @escaping (String) -> Void
  ) throws {
    var environment = ProcessInfo.processInfo.environment
    environment["GODWIT_STORE"] = URL(filePath: context.storePath).path
    environment["GODWIT_STORE_IS_WRITABLE"] = context.isStoreWritable ? "1" : "0"
    environment["GODWIT_SOURCE_MODEL"] = context.sourceModel.name
    environment["GODWIT_DESTINATION_MODEL"] = context.destinationModel.name
    let process = HookProcess(command: command.value, folder: folder, environment: environment, output: output)
    try process.run { cause in
      GodwitError(
        .inputOutput, "the hook '\(command.value)' failed", location: command.location, cause: cause,
        remedy:
          "fix the cause and run the same job; to change the command, `godwit discard` the job and run it again"
      )
    }
  }
}
