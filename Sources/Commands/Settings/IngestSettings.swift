import Ingest

/// The settings of `appstore-inbox ingest`.
struct IngestSettings: Sendable {
    let database: DatabaseSettings
    /// Where notifications arrive.
    let listen: ListenAddress
    /// Where `/livez` and `/readyz` answer even when the first listener is full.
    let adminListen: ListenAddress
    /// Bytes of the largest notification.
    let bodyLimit: Int
    /// Bytes of bodies held at once.
    let memoryLimit: Int
    let connectionLimit: Int
    let requestTimeout: Duration
    /// Bytes stored in an hour; nil means no limit.
    let hourlyByteLimit: Int?
    let shutdownTimeout: Duration

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.ingest)
        database = try DatabaseSettings(reader)
        listen = try reader.required(Settings.listen)
        adminListen = try reader.required(Settings.adminListen)
        bodyLimit = try reader.required(Settings.bodyLimit)
        memoryLimit = try reader.required(Settings.memoryLimit)
        connectionLimit = try reader.required(Settings.connectionLimit)
        requestTimeout = .seconds(try reader.required(Settings.requestTimeout))
        let hourly = try reader.required(Settings.hourlyByteLimit)
        hourlyByteLimit = hourly == 0 ? nil : hourly
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
        guard bodyLimit <= memoryLimit else {
            throw SettingsError(["body-limit is larger than memory-limit: no request could be taken"])
        }
    }
}
