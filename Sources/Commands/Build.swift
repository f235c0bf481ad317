import CBuild
import SQL

/// What was built.
package enum Build {
    package static let version = "0.2.0"

    /// The commit, if the environment of `swift build` named it in `APPSTORE_INBOX_COMMIT`, else `unknown`.
    package static let commit: String = {
        let commit = String(cString: appstore_inbox_commit())
        return commit.isEmpty ? "unknown" : commit
    }()

    /// The version of the schema that this program makes.
    package static let schema = SchemaManifest().version

    /// One line for `--version`.
    package static let description = "\(version), commit \(commit), schema \(schema)"
}
