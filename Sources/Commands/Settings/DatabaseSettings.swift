/// How a command reaches PostgreSQL.
struct DatabaseSettings: Sendable {
    /// Anything that libpq takes; secret.
    let url: String
    /// Whether named prepared statements are used.
    let isPrepared: Bool

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.database)
        url = try reader.required(Settings.databaseURL)
        isPrepared = try reader.required(Settings.prepared)
    }

    /// The same PostgreSQL server through another connection string, for another role.
    init(url: String, like other: DatabaseSettings) {
        self.url = url
        isPrepared = other.isPrepared
    }
}
