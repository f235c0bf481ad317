import Postgres
import SQL

extension ConnectionOptions {
    /// What `pg_stat_activity` shows says which command it is, unless the connection string names something else.
    ///
    /// - Parameter role: The role of `sql/roles.sql` whose settings the session gets where it did not log in as that role, such as under SET
    ///   ROLE. Behind a pooler it gets none: what it set would be left to other sessions.
    init(_ settings: DatabaseSettings, command: String, role: String?) throws {
        try self.init(settings.url)
        if applicationName == "appstore-inbox" { applicationName = "appstore-inbox \(command)" }
        prepared = settings.isPrepared
        if let role, prepared { opening = Statement(.adoptRoleSettings, ["role": role]) }
    }
}
