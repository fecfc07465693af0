import ArgumentParser
import Foundation
import GodwitFleet
import GodwitManifest
import GodwitModel
import GodwitStore

/// Prints how a scheduler runs the shards of a fleet.
struct FleetSubmitVerb: Verb {
  /// What runs shards on several processors or machines.
  enum Engine: String, ExpressibleByArgument, CaseIterable {
    case parallel, slurm, kubernetes
  }

  static let configuration = CommandConfiguration(
    commandName: "submit",
    abstract: "Print a script or manifest that runs the shards of a fleet on a scheduler.",
    discussion: """
      GNU parallel and Slurm: a script of bash. Kubernetes: jobs as YAML. Each runs the canary first, then the other \
      shards, and then makes the report. Read it, change it, and start it yourself: Godwit starts nothing.
      """)

  @Argument(
    help: ArgumentHelp("The fleet's file, with a plan.", valueName: "FLEET.yaml"), completion: .manifest)
  var manifest: String

  @Option(help: ArgumentHelp("The scheduler.", valueName: "parallel|slurm|kubernetes"))
  var engine: Engine

  @Option(name: .shortAndLong, help: ArgumentHelp("Write to a new file.", valueName: "FILE"), completion: .file())
  var output: String?

  @Option(
    help: ArgumentHelp(
      "Stop the script (parallel), a task (slurm) or a pod (kubernetes) at a checkpoint after a time such as 3h.",
      valueName: "time"), transform: TimeBox.parse)
  var time: TimeBox?

  @Option(help: ArgumentHelp("Run at most so many processes at the same time.", valueName: "N"))
  var throttle: Int?

  @Option(help: ArgumentHelp("Kubernetes: the container image with godwit.", valueName: "IMAGE"))
  var image: String?

  @Option(help: ArgumentHelp("Kubernetes: the volume claim that holds the fleet.", valueName: "PVC"))
  var claim: String?

  mutating func validate() throws {
    if let throttle, !(1...10_000).contains(throttle) {
      throw ValidationError("--throttle is 1 to 10000, found \(throttle)")
    }
    guard engine != .kubernetes else { return }
    if image != nil { throw ValidationError("--image is for kubernetes, not for \(engine.rawValue)") }
    if claim != nil { throw ValidationError("--claim is for kubernetes, not for \(engine.rawValue)") }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let fleet = try submitted()
    let text =
      switch engine {
      case .parallel: ParallelScript(fleet: fleet).text
      case .slurm: try SlurmScript(fleet).text
      case .kubernetes: try KubernetesManifest(fleet).text
      }
    guard let output else {
      session.output.write(data: text)
      return 0
    }
    try ExportFile.write(text, to: OutputFile(output, "the script"))
    let start = engine == .kubernetes ? "kubectl apply -f" : "bash"
    session.output.write("\(output): \(fleet.size). Start it with `\(start) \(output)`\n")
    return 0
  }

  private func submitted() throws -> SubmittedFleet {
    let file = try FleetManifest(contentsOf: manifest)
    let folder = FleetPaths.absolute(file.folder.resolved)
    let plan = try FleetPlan(contentsOf: folder + "/plan.json")
    return try SubmittedFleet(
      name: plan.fleet, manifest: FleetPaths.absolute(manifest), folder: folder,
      jobManifest: FleetPaths.absolute(file.job.resolved), identity: plan.identity, stores: plan.stores,
      shards: plan.shards, hasCanary: plan.canary, jobs: plan.jobs, memoryBytes: plan.memoryBytes,
      largestShardSeconds: plan.largestShardSeconds,
      options: SubmitOptions(seconds: time?.seconds, throttle: throttle, image: image, claim: claim)
    ).checked()
  }
}
