import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the settings again at SIGHUP, and logs what changed and what needs a restart. Settings that are wrong leave the old ones in force.
struct ReloadService: Service {
    /// Reads flags, environment and files.
    typealias Read = @Sendable () throws(SettingsError) -> SettingsReader
    /// Puts the settings that can change while the daemon runs in force, and returns their names.
    typealias Apply = @Sendable (SettingsReader) throws -> Set<String>

    private let hangups: UnixSignalsSequence
    private let settings: SettingsInForce
    private let scope: SettingsReader.Scope
    private let level: Reloadable<Logger.Level>
    private let logger: Logger
    private let read: Read
    private let apply: Apply

    /// From here on, SIGHUP does not end the process.
    ///
    /// - Parameters:
    ///   - reader: has the settings in force.
    ///   - level: the level of the daemon's loggers.
    init(
        _ reader: SettingsReader,
        _ scope: SettingsReader.Scope,
        level: Reloadable<Logger.Level>,
        logger: Logger,
        read: @escaping Read,
        apply: @escaping Apply
    ) async throws(SettingsError) {
        settings = try SettingsInForce(reader, scope)
        self.scope = scope
        self.level = level
        self.logger = logger
        self.read = read
        self.apply = apply
        hangups = await UnixSignalsSequence(trapping: .sighup)
    }

    func run() async throws {
        var settings = settings
        for await _ in hangups.cancelOnGracefulShutdown() {
            do {
                try reload(&settings)
            } catch {
                logger.error("settings not reloaded, the old ones stay in force", metadata: ["error": "\(error)"])
            }
        }
    }

    private func reload(_ settings: inout SettingsInForce) throws {
        let reader = try read()
        let new = try SettingsInForce(reader, scope)
        let newLevel = try LogSettings(reader).level
        let applied = try apply(reader).union([Settings.logLevel.name])
        let differences = new.differences(from: settings)
        settings.take(applied, from: new)
        // The message appears if either level shows it.
        level.replace(with: min(level.current, newLevel))
        report(changed: differences.intersection(applied), later: differences.subtracting(applied))
        level.replace(with: newLevel)
    }

    private func report(changed: Set<String>, later: Set<String>) {
        let names = { (names: Set<String>) in Logger.MetadataValue("\(names.sorted().joined(separator: ", "))") }
        logger.notice("settings reloaded", metadata: ["settings.changed": changed.isEmpty ? "none" : names(changed)])
        guard !later.isEmpty else { return }
        logger.warning("changed settings need a restart", metadata: ["settings.restart": names(later)])
    }
}
