import SQL

/// What a command of this program needs of a database.
package struct SchemaExpectation: Sendable {
    /// The role of `sql/roles.sql` that the command is made for.
    package var role: String
    /// A function of the schema without which the command cannot work.
    package var function: String
    /// Whether the session itself must be of the role: SET ROLE is not enough.
    package var isLogin = false
    /// The least version of the schema, and the contract of the schema with this program.
    package var version = SchemaManifest().version
    package var contract = SchemaContract.current

    package init(role: String, function: String, isLogin: Bool = false) {
        (self.role, self.function, self.isLogin) = (role, function, isLogin)
    }

    package static let ingest = SchemaExpectation(role: "appstore_ingest", function: "receive")
    package static let worker = SchemaExpectation(role: "appstore_worker", function: "settle")
    package static let api = SchemaExpectation(role: "appstore_api", function: "api_key")
    /// Of its sessions alone the schema believes who acts: `appstore.actor()`.
    package static let console = SchemaExpectation(role: "appstore_console", function: "console_session", isLogin: true)
    package static let viewer = SchemaExpectation(role: "appstore_viewer", function: "inbox_statistics")
    /// As the worker it shows the body, too.
    package static let explain = SchemaExpectation(role: "appstore_worker", function: "explain")
}
