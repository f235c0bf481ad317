import AppStore
import AppStoreVerification
import HTTPServing

/// The settings of `appstore-inbox worker`.
struct WorkerSettings: Sendable {
    let database: DatabaseSettings
    /// The apps whose notifications count; at least one.
    let apps: [App]
    /// The environments that count; at least one.
    let environments: Set<AppStoreEnvironment>
    let extraRoots: [ExtraRoot]
    /// Where `/livez`, `/readyz` and `/metrics` answer; nil when they do not.
    let adminListen: ListenAddress?
    /// Batches in flight.
    let concurrency: Int
    /// Events in one batch.
    let batchSize: Int
    let maximumAttempts: Int
    let shutdownTimeout: Duration

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.worker)
        database = try DatabaseSettings(reader)
        apps = try reader.required(Settings.apps)
        environments = try reader.required(Settings.environments)
        extraRoots = try reader.required(Settings.extraRoots)
        adminListen = try reader.required(Settings.workerAdminListen)
        concurrency = try reader.required(Settings.concurrency)
        batchSize = try reader.required(Settings.batchSize)
        maximumAttempts = try reader.required(Settings.maximumAttempts)
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
    }

    /// What an operator should read in the log at each start.
    var warnings: [String] {
        extraRoots.filter { $0.environments.contains(.production) }.map { root in
            "\(root.path) is trusted for Production: whoever holds its key can make purchases"
        }
    }
}
