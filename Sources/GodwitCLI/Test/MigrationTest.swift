import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

/// One store that `godwit test` migrates to the current version and proves.
struct MigrationTest: Sendable {
  enum Store: Sendable {
    /// A store made from the version's model.
    case made(Result<ManagedObjectModel, GodwitError>, rows: Int, seed: UInt64, isNasty: Bool)
    /// The path of a store that the user gave.
    case given(String)
  }

  /// The name of the model version; nil for a given store until it is read.
  var version: String?
  var name: String
  var store: Store
  /// Files of expectations.
  var expectations: [String]
}

/// How a test ended.
struct MigrationTestResult: Sendable, Encodable {
  enum Outcome: String, Sendable, Encodable {
    case passed, failed
    /// The test had not begun when a signal came.
    case skipped
  }

  struct Problem: Sendable, Encodable {
    enum Kind: String, Sendable, Encodable {
      /// The migration ended with an error.
      case run
      /// `verify` found a difference.
      case verification
      /// The destination is not what a file of expectations says.
      case expectation
    }

    var kind: Kind
    /// The exit status that `run` or `verify` would have.
    var code: Int32
    var message: String
  }

  var version: String
  var store: String
  var outcome = Outcome.passed
  /// Versions from the store's to the current one, in order: the last of each step.
  var path: [String] = []
  var objects: Int64 = 0
  /// Objects, values and links of the source that were lost.
  var lost: Int64 = 0
  var losses: [String] = []
  /// The same with codes.
  var lossDetails: [LossReport.Loss] = []
  /// How source model and mapping models were found, if the user should check that, with the code of each note.
  var notes: [String]?
  var noteCodes: [MigrationNote.Code]?
  /// Expectations that were checked.
  var expectations = 0
  var problems: [Problem] = []
  var seconds = 0.0
  /// The folder with the store and the job of a test that failed.
  var kept: String?
  /// The command that repeats it.
  var reproduce: String?
}
