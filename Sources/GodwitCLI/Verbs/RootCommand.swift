import ArgumentParser

/// The command itself. `verbs` is the one list of verbs; the help is made from it.
struct RootCommand: ParsableCommand {
  static let verbs: [any ParsableCommand.Type] = [
    InitVerb.self, RunVerb.self, PlanVerb.self, AuditVerb.self, StatusVerb.self, VerifyVerb.self, ReportVerb.self,
    DiscardVerb.self, InspectVerb.self, WhyVerb.self, LintVerb.self, TestVerb.self, ModelVerb.self, MappingVerb.self,
    PolicyVerb.self, QuarantineVerb.self, MakeStoreVerb.self, ExportVerb.self, SalvageVerb.self, CompactVerb.self,
    TraceVerb.self, TortureVerb.self, SchemaVerb.self,
  ]

  static let configuration = CommandConfiguration(
    commandName: "godwit",
    abstract: "Migrates Core Data stores: plan first, stop at any time, verify afterwards.",
    discussion: """
      Exit status: 0 done; 2 a migration is needed; 3 done, with objects in quarantine, or with losses of `salvage`; 4 findings; 64 wrong usage; 65 \
      invalid data; 66 missing file; 69 no model fits; 70 a bug; 73 cannot create; 74 I/O failed; 75 stopped at a \
      checkpoint; 77 permission denied; 78 invalid manifest or mapping; 130, 143 stopped by a signal after a checkpoint. \
      After 74, 75, 130 and 143 the same command resumes.
      """,
    version: "godwit \(GodwitCommand.version)",
    subcommands: verbs)
}
