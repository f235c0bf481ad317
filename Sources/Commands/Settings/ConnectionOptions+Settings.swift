import Postgres
import SQL

extension ConnectionOptions {
    /// Names the command in `application_name`, unless the connection string sets another name.
    ///
    /// - Parameter role: The role of `sql/roles.sql` whose settings the session adopts where it did not log in as that role, for instance
    ///   under SET ROLE. Behind a pooler it adopts none, since they would leak into other sessions.
    init(_ settings: DatabaseSettings, command: String, role: String?) throws {
        try self.init(settings.url)
        if applicationName == "appstore-inbox" { applicationName = "appstore-inbox \(command)" }
        prepared = settings.isPrepared
        if let role, prepared { opening = Statement.adoptRoleSettings(role: role) }
    }
}
