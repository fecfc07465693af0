package import GodwitJob
package import GodwitModel

/// A migration job as its manifest describes it.
///
/// Values as written, checked for kind and range only: whether models, mappings and names exist is
/// for the planner to say. `locations` points at any top-level key for later complaints.
package struct JobManifest: Sendable {
  /// The place of the migrated store, and the treatment of a store that is there.
  package struct Destination: Sendable, Hashable {
    /// nil in place.
    package var path: ManifestPath?
    package var existing: MigrationJob.ExistingDestinationRule
  }

  /// Where mapping models come from.
  package enum Mappings: Sendable, Hashable {
    case files([ManifestPath])
    case auto
    /// As `auto`, without inference.
    case modelsOnly
    case inferred
  }

  /// How the rows of a source entity are cut.
  package struct Chunks: Sendable, Hashable {
    /// Rows in a chunk; nil: chosen from sampled row widths and the memory budget.
    package var rows: Int?
    /// Filter predicates in place of key ranges, by mapping name.
    package var by: [String: [SourceText]] = [:]
    /// The places of the mapping names under `by`.
    package var locations: [String: GodwitError.Location] = [:]
  }

  /// The treatment of a row that validation rejects.
  package enum OnInvalid: Sendable, Hashable {
    case fail
    /// Rows that broke their own model's rules stay as they are.
    case keep
    /// Rows are set aside until a limit is passed; percent counts the rows of the job.
    case quarantine(maxRows: Int?, maxPercent: Double?)
  }

  package enum DestinationType: String, Sendable, Hashable, CaseIterable {
    case sqlite, xml, binary
  }

  /// The treatment of a store that CloudKit mirrors.
  package enum CloudKit: String, Sendable, Hashable, CaseIterable {
    case stop, drop
  }

  /// Where the names of the new store come from where Core Data's choice is open.
  package struct Layout: Sendable {
    /// A store of the destination version.
    package var from: ManifestPath?
    /// `Entity.relationship` and the name of its table or column, in file order.
    package var names: [(end: String, name: Located<String>)] = []
    /// Whether a guess is an error.
    package var isStrict = false
  }

  /// Hooks before and after a version step.
  package struct Stage: Sendable, Equatable {
    package var step: Located<String>
    package var before: Located<String>?
    package var after: Located<String>?
  }

  /// Where a finished run writes its receipt.
  package enum ReceiptPlace: Sendable, Hashable {
    case none
    /// nil: the key is left out.
    case file(ManifestPath?)
  }

  /// The manifest's path as given; `<stdin>` for standard input.
  package var file: String
  /// The job's name; default: see ``name(ofFile:)``, and for standard input the name of the source.
  package var job: String
  /// The name that an earlier version of Godwit gave to the job, if that is another one.
  package internal(set) var earlierName: String?
  package var source: ManifestPath
  /// The stores that are merged into the source, of which `source` is the first; empty for any other source.
  package internal(set) var merge: [ManifestPath] = []
  /// The patterns that named some of them.
  var mergePatterns: [ManifestPath] = []
  /// Whether the source is a file with a path on each line.
  package internal(set) var isList = false
  package var stores: Stores?
  /// Whether the source is a pattern or a list, and the destination has placeholders.
  package internal(set) var isForManyStores = false
  package var destination: Destination
  /// `PATH` or `PATH#Version Name`.
  package var models: [ManifestPath]
  package var destinationModel: Located<String>?
  package var mappings: Mappings = .auto
  package var assumeSourceModel: Located<String>?
  package var chunks = Chunks()
  /// The budget of what a run allocates. The program itself comes beside it.
  package var memory = ByteCount.mebibytes(64)
  package var onInvalid: OnInvalid = .fail
  package var onLoss: MigrationJob.LossRule = .report
  /// The losses that are meant, as a plan names them.
  package var acceptLosses: [Located<String>] = []
  /// Models that form one.
  package var mergeModels: [ManifestPath] = []
  package var configuration: String?
  package var destinationType: DestinationType = .sqlite
  package var cloudkit: CloudKit = .stop
  package var checkSource: MigrationJob.SourceCheck = .quick
  /// Model version names, oldest first.
  package var versionOrder: [String] = []
  /// Folders and files where `auto` looks for mapping models; empty: beside the models.
  package var mappingSearch: [ManifestPath] = []
  package var layout: Layout?
  package var receipt = ReceiptPlace.file(nil)
  package var unregisteredPolicies: UnregisteredPolicies = .fail
  package var stages: [Stage] = []
  /// Commands for when a run ended with 0, and for when it failed.
  package var onSuccess: [Located<String>] = []
  package var onFailure: [Located<String>] = []
  /// The places of the top-level keys.
  package var locations: [String: GodwitError.Location]

  /// Whether the source itself is replaced.
  package var isInPlace: Bool { destination.path == nil }
}
