public import GodwitModel

/// A migration job as its manifest describes it.
///
/// Values as written, checked for kind and range only: whether models, mappings and names exist is
/// for the planner to say. `locations` points at any top-level key for later complaints.
public struct JobManifest: Sendable {
  /// Where the migrated store goes.
  public enum Destination: Sendable, Hashable {
    case file(ManifestPath)
    /// The source is replaced at the end; the location is that of `in-place`.
    case inPlace(keepOld: Bool, location: GodwitError.Location)
  }

  /// Where mapping models come from.
  public enum Mappings: Sendable, Hashable {
    case files([ManifestPath])
    case auto
    case inferred
  }

  /// How the rows of a source entity are cut.
  public struct Chunks: Sendable, Hashable {
    /// Rows in a chunk; nil: chosen from sampled row widths and the memory budget.
    public var rows: Int?
    /// Filter predicates in place of key ranges, by mapping name.
    public var by: [String: [SourceText]]
    /// Where the mapping names of `by` stand.
    public var locations: [String: GodwitError.Location]

    public init(
      rows: Int? = nil, by: [String: [SourceText]] = [:], locations: [String: GodwitError.Location] = [:]
    ) {
      self.rows = rows
      self.by = by
      self.locations = locations
    }
  }

  /// What happens to a row that validation rejects.
  public enum OnInvalid: Sendable, Hashable {
    case fail
    /// Rows are set aside until a limit is passed; percent counts the rows of the job.
    case quarantine(maxRows: Int?, maxPercent: Double?)
  }

  /// What happens when something of the source does not come over.
  public enum OnLoss: String, Sendable, Hashable, CaseIterable {
    case report, fail
  }

  public enum DestinationType: String, Sendable, Hashable, CaseIterable {
    case sqlite, xml
  }

  /// What becomes of the persistent history of the source.
  public enum History: String, Sendable, Hashable, CaseIterable {
    case drop, keep
  }

  /// What becomes of a store that CloudKit mirrors.
  public enum CloudKit: String, Sendable, Hashable, CaseIterable {
    case stop, drop
  }

  /// How SQLite checks the source beside the run.
  public enum CheckSource: String, Sendable, Hashable, CaseIterable {
    case quick, full, none
  }

  /// What happens when a mapping names a policy nobody registered.
  public enum UnregisteredPolicies: String, Sendable, Hashable, CaseIterable {
    case fail, `default`
  }

  /// Hooks before and after a version step.
  public struct Stage: Sendable, Equatable {
    public var step: Located<String>
    public var before: Located<String>?
    public var after: Located<String>?
  }

  /// The manifest's path as given; `<stdin>` for standard input.
  public var file: String
  /// The job's name; default: the file's name without its extension, for standard input that of the source.
  public var job: String
  public var source: ManifestPath
  public var destination: Destination
  /// `PATH` or `PATH#Version Name`.
  public var models: [ManifestPath]
  public var destinationModel: Located<String>?
  public var mappings: Mappings = .auto
  public var assumeSourceModel: Located<String>?
  public var chunks = Chunks()
  /// The budget of what a run allocates. The program itself comes beside it.
  public var memory = ByteCount.mebibytes(64)
  public var onInvalid: OnInvalid = .fail
  public var onLoss: OnLoss = .report
  /// Whether a job may leave no object of a source that has some.
  public var allowEmpty = false
  public var append = false
  /// Models that form one.
  public var mergeModels: [ManifestPath] = []
  public var configuration: String?
  public var destinationType: DestinationType = .sqlite
  public var history: History = .drop
  public var cloudkit: CloudKit = .stop
  public var checkSource: CheckSource = .quick
  /// Model version names, oldest first.
  public var versionOrder: [String] = []
  /// Folders and files where `auto` looks for mapping models; empty: beside the models.
  public var mappingSearch: [ManifestPath] = []
  /// A store of the destination version, whose table names the new one takes where Core Data's choice is open.
  public var layoutFrom: ManifestPath?
  public var unregisteredPolicies: UnregisteredPolicies = .fail
  public var stages: [Stage] = []
  /// Where the top-level keys stand.
  public var locations: [String: GodwitError.Location]
}
