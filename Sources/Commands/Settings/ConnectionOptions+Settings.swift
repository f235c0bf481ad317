import Postgres

extension ConnectionOptions {
    /// What `pg_stat_activity` shows says which command it is, unless the connection string names something else.
    init(_ settings: DatabaseSettings, command: String) throws {
        try self.init(settings.url)
        if applicationName == "appstore-inbox" { applicationName = "appstore-inbox \(command)" }
        prepared = settings.isPrepared
    }
}
