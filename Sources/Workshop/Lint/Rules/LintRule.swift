/// The rules of `godwit lint`, each with a code that never changes its meaning.
///
/// Codes from 100 are about versions and the way between them, from 200 about one step, from 300 about mapping models,
/// from 400 about the layout of stores, from 500 about CloudKit.
package enum LintRule: String, Sendable, Hashable, CaseIterable, Codable {
  case shippedVersionEdited = "GW101"
  case shippedVersionGone = "GW102"
  case versionNotLocked = "GW103"
  case versionUnreadable = "GW104"
  case currentVersionUnknown = "GW105"
  case versionOrderUnclear = "GW106"
  case noPath = "GW107"
  case severalSteps = "GW108"
  case acceptedNotFound = "GW109"
  case wordIgnored = "GW110"
  case equalHashes = "GW111"

  case attributeDropped = "GW201"
  case relationshipDropped = "GW202"
  case entityDropped = "GW203"
  case probableRename = "GW204"
  case optionalToRequired = "GW205"
  case requiredAttributeAdded = "GW206"
  case requiredToOneAdded = "GW207"
  case uniquenessAdded = "GW208"
  case needsMappingModel = "GW209"
  case needsPolicy = "GW210"
  case rowsReadInPlace = "GW211"
  case rowsMayBreakRule = "GW212"
  case renameChainBroken = "GW213"
  case renameUnmatched = "GW214"
  case renameUnseen = "GW215"
  case numberRounded = "GW216"
  case orderDropped = "GW217"

  case mappingModelStale = "GW301"
  case mappingModelUnusable = "GW302"
  case mappingModelUnmatched = "GW303"
  case mappingModelsConflict = "GW304"

  case layoutAmbiguous = "GW401"

  case cloudkitRefuses = "GW501"
  case cloudkitKeeps = "GW502"

  /// How bad a finding is.
  package enum Severity: String, Sendable, Hashable, Codable, Comparable, CaseIterable {
    case note, warning, error

    package static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .note: 0
      case .warning: 1
      case .error: 2
      }
    }
  }

  package var code: String { rawValue }

  var isAboutMappingModels: Bool { code.hasPrefix("GW3") }

  /// The code in words, for example `attribute-dropped`.
  package var slug: String {
    var slug = ""
    for character in "\(self)" {
      if character.isUppercase { slug += "-" }
      slug += character.lowercased()
    }
    return slug
  }

  /// The severity of most findings; one may be milder, such as that of a step that was shipped.
  package var severity: Severity {
    switch self {
    case .shippedVersionEdited, .shippedVersionGone, .versionUnreadable, .noPath, .optionalToRequired,
      .requiredAttributeAdded, .requiredToOneAdded, .needsMappingModel, .mappingModelUnusable, .mappingModelsConflict,
      .cloudkitRefuses:
      .error
    case .currentVersionUnknown, .versionOrderUnclear, .attributeDropped, .relationshipDropped, .entityDropped,
      .probableRename, .uniquenessAdded, .rowsMayBreakRule, .renameChainBroken, .mappingModelStale, .layoutAmbiguous,
      .wordIgnored, .severalSteps, .equalHashes, .renameUnmatched, .renameUnseen, .numberRounded,
      .orderDropped, .cloudkitKeeps:
      .warning
    case .versionNotLocked, .acceptedNotFound, .needsPolicy, .rowsReadInPlace, .mappingModelUnmatched:
      .note
    }
  }

  /// The problem that the rule looks for.
  package var summary: String {
    switch self {
    case .shippedVersionEdited: "A shipped version was edited"
    case .shippedVersionGone: "A shipped version is gone"
    case .versionNotLocked: "A version is not in the lock file"
    case .versionUnreadable: "A version cannot be read"
    case .currentVersionUnknown: "The current version is not known"
    case .versionOrderUnclear: "The names of the versions do not show their order"
    case .noPath: "No path leads from a version to the current one"
    case .severalSteps: "The path to the current version has several steps"
    case .acceptedNotFound: "An accepted finding does not occur"
    case .wordIgnored: "A word of a model file is ignored"
    case .equalHashes: "Two versions have equal version hashes"
    case .attributeDropped: "A step drops an attribute"
    case .relationshipDropped: "A step drops a relationship"
    case .entityDropped: "A step drops an entity"
    case .probableRename: "A probable rename has no renaming identifier"
    case .optionalToRequired: "An optional attribute becomes required and has no default"
    case .requiredAttributeAdded: "A required attribute is new and has no default"
    case .requiredToOneAdded: "A required relationship is new"
    case .uniquenessAdded: "A uniqueness constraint is new"
    case .needsMappingModel: "A step needs a mapping model"
    case .needsPolicy: "A step needs a policy"
    case .rowsReadInPlace: "A migration in place reads every row"
    case .rowsMayBreakRule: "Objects may break a new rule"
    case .renameChainBroken: "A step over several versions loses or moves what single steps keep"
    case .renameUnmatched: "A renaming identifier does not match"
    case .renameUnseen: "Version hashes do not see a rename"
    case .numberRounded: "A step rounds numbers"
    case .orderDropped: "A step drops the order of a relationship"
    case .mappingModelStale: "A mapping model is stale"
    case .mappingModelUnusable: "A mapping model cannot be used"
    case .mappingModelUnmatched: "A mapping model matches no versions"
    case .mappingModelsConflict: "Mapping models contradict each other"
    case .layoutAmbiguous: "The layout of a store is ambiguous"
    case .cloudkitRefuses: "A model has what CloudKit does not support"
    case .cloudkitKeeps: "A step changes what CloudKit keeps"
    }
  }

  /// Why it matters.
  package var explanation: String {
    switch self {
    case .shippedVersionEdited:
      "Core Data finds the model of a store by its version hashes. After the edit no version has the hashes of users' stores, which can neither be opened nor migrated."
    case .shippedVersionGone:
      "Users have stores of this version. Without its model they are refused, or migrated by the model inside the store, past every mapping model."
    case .versionNotLocked:
      "A released version should be in the lock file, so that a later edit is noticed."
    case .versionUnreadable:
      "Neither Xcode nor Godwit can migrate a store of a version that cannot be read."
    case .currentVersionUnknown:
      "Without a current version there is no destination for a migration."
    case .versionOrderUnclear:
      "A path never goes back to an older version, and only the names show which version is older."
    case .noPath:
      "A store of this version cannot be migrated to the current version."
    case .severalSteps:
      "Core Data's automatic migration makes one step. It needs a mapping model from the store's version to the current one, or must be able to infer one."
    case .acceptedNotFound:
      "An entry that accepts nothing is misspelt or no longer needed."
    case .wordIgnored:
      "Xcode's compiler passes over words that it does not know, and Core Data's default takes the place of an unknown value that the version hash does not contain. A renaming identifier not written as `elementID` renames nothing: the values are lost."
    case .equalHashes:
      "Core Data takes both for one version. It opens a store of the earlier one as it is, and refuses a staged migration over them."
    case .attributeDropped: "The values of the attribute are lost."
    case .relationshipDropped: "The links of the relationship are lost."
    case .entityDropped: "The objects of the entity are lost."
    case .probableRename:
      "Without a renaming identifier Core Data drops the old property and adds an empty new one."
    case .optionalToRequired:
      "Core Data cannot infer the step: no value can replace nil."
    case .requiredAttributeAdded:
      "Core Data cannot infer the step: existing objects would have no value."
    case .requiredToOneAdded:
      "Core Data cannot infer the step: existing objects would have no related object, which validation forbids."
    case .uniquenessAdded:
      "A store in which two objects have the same values cannot be migrated."
    case .needsMappingModel:
      "No mapping model serves the step, and Core Data cannot infer it, or Godwit stops at it."
    case .needsPolicy:
      "The mapping model names a class of the application. Godwit needs a port of that class."
    case .rowsReadInPlace:
      "The migration takes time in proportion to a store's objects; a step that changes only definitions does not. A stricter rule as the reason is a warning: an object that breaks it stops the run."
    case .rowsMayBreakRule:
      "Whether the step succeeds depends on each store's objects."
    case .renameChainBroken:
      "A renaming identifier is missing, or is not the first name. A store of an older version is migrated in one step, which then drops the property, or gives its values to another one."
    case .renameUnmatched:
      "Core Data compares renaming identifiers, and an element without one has its name as identifier. If they differ, the new element is empty. If two are equal, Core Data chooses."
    case .renameUnseen:
      "The version hash covers names and not identifiers. If names are exchanged, the hash stays, and Core Data leaves each value under its name."
    case .numberRounded: "The new type of an attribute does not hold every number exactly."
    case .orderDropped: "The links stay, and their order is lost."
    case .mappingModelStale:
      "A version changed after the mapping model was saved. Core Data compares version hashes and does not find the mapping model."
    case .mappingModelUnusable:
      "A migration that uses the mapping model fails."
    case .mappingModelUnmatched:
      "Nothing uses the mapping model."
    case .mappingModelsConflict:
      "Two mapping models serve the same step and map it differently."
    case .layoutAmbiguous:
      "Core Data's name for a table or column is not known for certain. A store that Godwit makes may lack Core Data's name."
    case .cloudkitRefuses:
      "An application that mirrors the entity with `NSPersistentCloudKitContainer` cannot open the store."
    case .cloudkitKeeps:
      "CloudKit's schema only grows once it is deployed: it keeps record types, fields and their types. Devices with the earlier version no longer see the data."
    }
  }

  /// `help` as the end of a line.
  var remedy: String {
    let text = help.hasSuffix(".") ? String(help.dropLast()) : help
    return text.prefix(1).lowercased() + text.dropFirst()
  }

  /// The general remedy. A finding gives the remedy for its case.
  package var help: String {
    switch self {
    case .shippedVersionEdited: "Undo the edit, and make the change in a new version of the model."
    case .shippedVersionGone: "Restore the version from version control."
    case .versionNotLocked:
      "When the version is released, run the command with `--write-lock` and commit the lock file."
    case .versionUnreadable: "Restore the file from version control, or correct it at the place that the finding names."
    case .currentVersionUnknown: "Set the current version in Xcode's file inspector."
    case .versionOrderUnclear: "List the versions under `versionOrder` of the lock file, oldest first."
    case .noPath: "Write a mapping model for the step that is missing; `godwit mapping new` drafts one."
    case .severalSteps: "Migrate step by step in the application, or add a mapping model for the whole path."
    case .acceptedNotFound: "Correct or remove the entry under `accepted` of the lock file."
    case .wordIgnored:
      "Set the renaming identifier in Xcode's editor, which writes `elementID`; correct or remove any other word."
    case .equalHashes: "Give the later version a hash modifier, or delete it if no store needs it."
    case .attributeDropped, .relationshipDropped, .entityDropped:
      "Keep it, set the renaming identifier of what takes its place, or carry the data over with a mapping model. Accept the finding if the data is no longer needed."
    case .probableRename:
      "Set the renaming identifier of the new name to the old name. Accept the finding if it is not a rename."
    case .optionalToRequired, .requiredAttributeAdded:
      "Give the attribute a default, make it optional, or write a mapping model."
    case .requiredToOneAdded: "Make the relationship optional, or write a mapping model that sets it."
    case .uniquenessAdded:
      "Make sure that no store has duplicates, or merge them with a mapping model that has `unique-by`. Where they differ, it keeps the values of the first by `order-by`, and the plan counts the others as lost."
    case .needsMappingModel: "Write a mapping model for the step; `godwit mapping new` drafts one."
    case .needsPolicy: "Port the policy; `godwit policy stub` writes its type."
    case .rowsReadInPlace:
      "Nothing, if the time is acceptable; test with the largest store that you have. `on-invalid: keep` keeps objects that break a rule."
    case .rowsMayBreakRule: "Test the step with real stores, relax the rule, or write a mapping model."
    case .renameChainBroken:
      "Set the renaming identifier to the first name, migrate through the versions between, or add a mapping model for the whole path."
    case .renameUnmatched: "Set the renaming identifier to the first name; give what is new another name."
    case .renameUnseen: "Give the entity a hash modifier in the later version."
    case .numberRounded: "Take a type that holds every value, or accept the finding if rounded values will do."
    case .orderDropped: "Keep the relationship ordered, or store each object's place with a mapping model."
    case .mappingModelStale: "Open the mapping model in Xcode and choose Editor, Refresh Data Models."
    case .mappingModelUnusable: "Correct the mapping model at the place that the finding names."
    case .mappingModelUnmatched: "Restore the versions that it names, or delete it."
    case .mappingModelsConflict:
      "Delete one of them, rename the entity mappings of one, or list the one to use under `mappings` of a job."
    case .layoutAmbiguous:
      "Give jobs a store of this version that Core Data made, with `layout: {from: STORE}`, or the name under `names`."
    case .cloudkitRefuses: "Change the model, or move the entity into a configuration that is not used with CloudKit."
    case .cloudkitKeeps: "Keep it, and add a new entity or property beside it."
    }
  }
}
