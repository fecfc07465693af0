import Foundation
import TestSupport

/// The model versions of a made-up application, as applications really have them, in `Tests/Fixtures`.
///
/// SQL on both stores, written by hand from the models, says what a migration to the current version must preserve.
struct FixtureProject: Sendable, CustomStringConvertible {
  /// Rows of the source, attached as `source`, and of the destination, attached as `made`, that must be the same set.
  struct Same: Sendable {
    var source, made: String
    init(_ source: String, _ made: String) { (self.source, self.made) = (source, made) }
  }

  /// A version of the bundle that stores are made for.
  struct Start: Sendable {
    var version: String
    var same: [Same]
    /// Keys of the manifest besides source, destination and models.
    var keys = ""
  }

  let name: String
  let starts: [Start]

  var description: String { name }

  /// The bundle of the versions.
  var bundle: String { Self.folder.appending(path: name + ".xcdatamodeld").path }

  private static let folder = Checkout.url("Tests/Fixtures")

  static let all = [podcasts, circles, library, mixtapes, journal, diary, fitness, shop, messenger, travel, planner]

  /// Fourteen versions with one small change each.
  static let podcasts = FixtureProject(
    name: "Podcasts",
    starts: [
      Start(
        version: "Podcasts",
        same: [
          Same(
            "SELECT Z_PK, ZTITLE, ZFEEDURL FROM source.ZPODCAST", "SELECT Z_PK, ZTITLE, ZFEEDURL FROM made.ZPODCAST"),
          Same(
            "SELECT Z_PK, ZGUID, ZPUBLISHED, ZDURATION, ZPODCAST, 0, 0.0, 0, 0, 0 FROM source.ZEPISODE",
            "SELECT Z_PK, ZGUID, ZPUBLISHED, ZDURATION, ZPODCAST, ZPLAYED, ZPOSITION, ZSEASON, ZNUMBER, ZSIZEINBYTES FROM made.ZEPISODE"
          ), order("ZEPISODE", "ZPODCAST", "Z_FOK_PODCAST"),
        ]),
      Start(
        version: "Podcasts 10",
        same: [
          Same(
            "SELECT Z_PK, ZTITLE, ZAUTHOR, ZARTWORK IS NULL FROM source.ZPODCAST",
            "SELECT Z_PK, ZTITLE, ZAUTHOR, ZARTWORK IS NULL FROM made.ZPODCAST"),
          Same(
            "SELECT Z_2PODCASTS, Z_4TAGS FROM source.Z_2TAGS", "SELECT Z_2PODCASTS, Z_4TAGS FROM made.Z_2TAGS"),
          Same(
            "SELECT Z_3QUEUES, Z_1EPISODES, ROW_NUMBER() OVER (PARTITION BY Z_3QUEUES ORDER BY Z_FOK_1EPISODES) FROM source.Z_1QUEUES",
            "SELECT Z_3QUEUES, Z_1EPISODES, ROW_NUMBER() OVER (PARTITION BY Z_3QUEUES ORDER BY Z_FOK_1EPISODES) FROM made.Z_1QUEUES"
          ),
        ]),
    ])

  /// Relationships of an entity with itself: pairs, one that is renamed, and two that are their own inverses.
  static let circles = FixtureProject(
    name: "Circles",
    starts: [
      Start(
        version: "Circles 1",
        same: [
          Same(
            "SELECT Z_PK, ZHANDLE, ZJOINED, ZMENTOR, 0, NULL FROM source.ZPERSON",
            "SELECT Z_PK, ZHANDLE, ZJOINED, ZMENTOR, ZKARMA, ZSPOUSE FROM made.ZPERSON"),
          following,
        ]),
      Start(
        version: "Circles 2",
        same: [
          Same(
            "SELECT Z_PK, ZHANDLE, ZMENTOR, ZKARMA FROM source.ZPERSON",
            "SELECT Z_PK, ZHANDLE, ZMENTOR, ZKARMA FROM made.ZPERSON"),
          following,
          Same(
            "SELECT Z_1BLOCKED, Z_1BLOCKEDBY FROM source.Z_1BLOCKEDBY",
            "SELECT Z_1MUTED, Z_1MUTEDBY FROM made.Z_1MUTEDBY"),
        ]),
    ])

  private static let following = Same(
    "SELECT Z_1FOLLOWERS, Z_1FOLLOWING FROM source.Z_1FOLLOWING",
    "SELECT Z_1FOLLOWERS, Z_1FOLLOWING FROM made.Z_1FOLLOWING")

  /// Three levels of inheritance; siblings have properties of one name and other types; a class in the middle is
  /// renamed.
  static let library = FixtureProject(
    name: "Library",
    starts: ["Library", "Library 2"].map { version in
      Start(
        version: version,
        same: [
          Same(
            "SELECT i.Z_PK, replace(z.Z_NAME, 'Song', 'Track') AS n, ZTITLE, ZADDED, ZSHELF, ZDURATION, ZTRACK, ZPAGES FROM source.ZITEM AS i JOIN source.Z_PRIMARYKEY AS z USING (Z_ENT) WHERE n <> 'LiveTrack'",
            "SELECT i.Z_PK, z.Z_NAME AS n, ZTITLE, ZADDED, ZSHELF, ZDURATION1, ZTRACK, ZPAGES FROM made.ZITEM AS i JOIN made.Z_PRIMARYKEY AS z USING (Z_ENT) WHERE n <> 'LiveSong'"
          ),
          // Each entity has a column of its own for what its siblings call the same.
          Same(
            "SELECT Z_PK, ZRATING, ZRATING1, ZRATING2, ZOWNER, ZOWNER1, ZOWNER2 FROM source.ZITEM",
            "SELECT Z_PK, ZRATING, ZRATING1, ZRATING2, ZOWNER, ZOWNER1, ZOWNER2 FROM made.ZITEM"),
          Same(
            "SELECT a.Z_PK, a.ZNAME, a.ZCOVER, replace(z.Z_NAME, 'Song', 'Track') AS n FROM source.ZARTIST AS a LEFT JOIN source.Z_PRIMARYKEY AS z ON z.Z_ENT = a.Z2_COVER WHERE n IS NOT 'LiveTrack'",
            "SELECT a.Z_PK, a.ZNAME, a.ZCOVER, z.Z_NAME AS n FROM made.ZARTIST AS a LEFT JOIN made.Z_PRIMARYKEY AS z ON z.Z_ENT = a.Z2_COVER WHERE n IS NOT 'LiveSong'"
          ), Same("SELECT Z_1ARTISTS, Z_4WORKS FROM source.Z_1WORKS", "SELECT Z_1ARTISTS, Z_5WORKS FROM made.Z_1WORKS"),
        ])
    })

  /// A many-to-many that is ordered at both ends, beside a rename and a wider number.
  static let mixtapes = FixtureProject(
    name: "Mixtapes",
    starts: [("Mixtapes", 1, 2), ("Mixtapes 2", 2, 3)].map { version, tape, track in
      func places(_ database: String, _ tape: Int, _ track: Int) -> String {
        """
        SELECT Z_\(tape)MIXTAPES, Z_\(track)TRACKS,
          ROW_NUMBER() OVER (PARTITION BY Z_\(tape)MIXTAPES ORDER BY Z_FOK_\(track)TRACKS),
          ROW_NUMBER() OVER (PARTITION BY Z_\(track)TRACKS ORDER BY Z_FOK_\(tape)MIXTAPES)
        FROM \(database).Z_\(tape)TRACKS
        """
      }
      return Start(
        version: version,
        same: [
          Same(places("source", tape, track), places("made", 2, 3)),
          Same("SELECT Z_PK, ZTITLE, ZBPM FROM source.ZTRACK", "SELECT Z_PK, ZTITLE, ZBPM FROM made.ZRECORDING"),
          Same("SELECT Z_PK, ZNAME FROM source.ZMIXTAPE", "SELECT Z_PK, ZNAME FROM made.ZMIXTAPE"),
        ])
    })

  /// Everything is renamed twice, and each version gives the first name.
  static let journal = FixtureProject(
    name: "Journal",
    starts: [
      Start(version: "Journal", same: pages("ZNOTE", "ZTEXT", "ZCREATED", "ZNOTEBOOK", "ZNAME")),
      Start(version: "Journal 2", same: pages("ZENTRY", "ZBODY", "ZCREATED", "ZJOURNAL", "ZTITLE")),
    ])

  /// The same, but each version gives only the name before: the job goes through the version between.
  static let diary = FixtureProject(
    name: "Diary",
    starts: [
      Start(
        version: "Diary", same: pages("ZNOTE", "ZTEXT", "ZCREATED", "ZNOTEBOOK", "ZNAME"),
        keys: "stages: [{step: Diary 2}]"),
      Start(version: "Diary 2", same: pages("ZENTRY", "ZBODY", "ZCREATED", "ZJOURNAL", "ZTITLE")),
    ])

  private static func pages(
    _ page: String, _ text: String, _ date: String, _ volume: String, _ title: String
  ) -> [Same] {
    [
      Same(
        "SELECT Z_PK, \(text), \(date), \(volume) FROM source.\(page)",
        "SELECT Z_PK, ZCONTENT, ZWRITTENAT, ZVOLUME FROM made.ZPAGE"),
      Same("SELECT Z_PK, \(title) FROM source.\(volume)", "SELECT Z_PK, ZHEADING FROM made.ZVOLUME"),
      Same(
        "SELECT Z_PK, ROW_NUMBER() OVER (PARTITION BY \(volume) ORDER BY Z_FOK_\(volume.dropFirst())) FROM source.\(page) WHERE \(volume) NOT NULL",
        "SELECT Z_PK, ROW_NUMBER() OVER (PARTITION BY ZVOLUME ORDER BY Z_FOK_VOLUME) FROM made.ZPAGE WHERE ZVOLUME NOT NULL"
      ),
    ]
  }

  /// Numbers get other types, and defaults of their former types stay in the file.
  static let fitness = FixtureProject(
    name: "Fitness",
    starts: ["Fitness 9", "Fitness 10"].map { version in
      Start(
        version: version,
        same: [
          Same(
            "SELECT Z_PK, ZCALORIES, CAST(ZDISTANCE AS REAL), ZOUTDOOR, ZSTEPS, CAST(ZCOST AS REAL), ZSTARTED FROM source.ZWORKOUT",
            "SELECT Z_PK, ZCALORIES, CAST(ZDISTANCE AS REAL), ZOUTDOOR, ZSTEPS, CAST(ZCOST AS REAL), ZSTARTED FROM made.ZWORKOUT"
          ),
          Same(
            "SELECT Z_PK, ZVALUE, ZDEVICE, ZWORKOUT FROM source.ZSAMPLE",
            "SELECT Z_PK, ZVALUE, ZDEVICE, ZWORKOUT FROM made.ZSAMPLE"),
        ])
    })

  /// Constraints, indexes, a derived count, external files, required to-many relationships without a minimum.
  static let shop = FixtureProject(
    name: "Shop",
    starts: [
      Start(
        version: "Shop",
        same: [
          Same(
            "SELECT Z_PK, ZSKU, ZNAME, ZPRICE FROM source.ZPRODUCT",
            "SELECT Z_PK, ZSKU, ZNAME, ZPRICE FROM made.ZPRODUCT"),
          Same(
            "SELECT Z_PK, ZEMAIL, (SELECT COUNT(*) FROM source.ZORDER WHERE ZCUSTOMER = c.Z_PK) FROM source.ZCUSTOMER AS c",
            "SELECT Z_PK, ZEMAIL, ZORDERCOUNT FROM made.ZCUSTOMER"),
          Same(
            "SELECT Z_PK, ZQUANTITY, ZORDER, ZPRODUCT FROM source.ZLINE",
            "SELECT Z_PK, ZQUANTITY, ZORDER, ZPRODUCT FROM made.ZLINE"), order("ZLINE", "ZORDER", "Z_FOK_ORDER"),
        ])
    ])

  /// Ends that are subentities, inverses of one name, a to-many without an inverse, versions that sort by number.
  static let messenger = FixtureProject(
    name: "Messenger",
    starts: [("Messenger v1.9", 3, 5, 6), ("Messenger v1.10", 4, 6, 7)].map { version, system, reaction, user in
      Start(
        version: version,
        same: [
          Same(
            "SELECT m.Z_PK, z.Z_NAME, ZSENTAT, ZCONVERSATION, ZSENDER, ZKIND FROM source.ZMESSAGE AS m JOIN source.Z_PRIMARYKEY AS z USING (Z_ENT)",
            "SELECT m.Z_PK, z.Z_NAME, ZSENTAT, ZCONVERSATION, ZSENDER, ZKIND FROM made.ZMESSAGE AS m JOIN made.Z_PRIMARYKEY AS z USING (Z_ENT)"
          ), order("ZMESSAGE", "ZCONVERSATION", "Z_FOK_CONVERSATION"),
          Same(
            "SELECT Z_1CONVERSATIONS, Z_\(user)PARTICIPANTS FROM source.Z_1PARTICIPANTS",
            "SELECT Z_1CONVERSATIONS, Z_7PARTICIPANTS FROM made.Z_1PARTICIPANTS"),
          Same("SELECT COUNT(*) FROM source.Z_\(system)USERS", "SELECT COUNT(*) FROM made.Z_4USERS"),
          Same("SELECT COUNT(*) FROM source.Z_\(reaction)USERS", "SELECT COUNT(*) FROM made.Z_6USERS"),
          // Conversation has number 1 in every version.
          Same("SELECT Z_PK, Z1PINNED FROM source.ZMESSAGE", "SELECT Z_PK, Z1PINNED FROM made.ZMESSAGE"),
        ])
    })

  /// One version is left in the middle of a merge, one is a pointer to a file elsewhere; an entity is replaced.
  static let travel = FixtureProject(
    name: "Travel",
    starts: [
      Start(
        version: "Travel",
        same: [
          Same(
            "SELECT Z_PK, ZNAME, ZSTART, 'EUR' FROM source.ZTRIP",
            "SELECT Z_PK, ZNAME, ZSTART, ZCURRENCY FROM made.ZTRIP"),
          Same("SELECT 0", "SELECT COUNT(*) FROM made.ZLEG"),
        ])
    ])

  /// Every type of value, and names that say nothing of the order.
  static let planner = FixtureProject(
    name: "Planner",
    starts: ["Zenith", "Meridian"].map { version in
      let values = "ZI16, ZI32, ZI64, ZDEC, ZDBL, ZFLT, ZSTR, ZFLAG, ZDATE, ZBIN, ZUID, ZURI, ZOBJ"
      return Start(
        version: version,
        same: [
          Same("SELECT Z_PK, \(values) FROM source.ZEVENT", "SELECT Z_PK, \(values) FROM made.ZEVENT"),
          Same(
            "SELECT Z_PK, IFNULL(ZNAME, 'guest'), ZEVENT FROM source.ZGUEST",
            "SELECT Z_PK, ZNAME, ZEVENT FROM made.ZGUEST"),
        ])
    })

  /// The places of the objects of one owner, whatever their numbers.
  private static func order(_ table: String, _ key: String, _ place: String) -> Same {
    func places(_ database: String) -> String {
      "SELECT Z_PK, ROW_NUMBER() OVER (PARTITION BY \(key) ORDER BY \(place)) FROM \(database).\(table) WHERE \(key) NOT NULL"
    }
    return Same(places("source"), places("made"))
  }
}
