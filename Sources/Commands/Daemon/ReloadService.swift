import AppStoreVerification
import Logging
import ServerAPI
import ServiceLifecycle
import Synchronization
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

/// The values of a daemon's settings, to tell which of them differ after the settings are read again. It holds secrets: never log it.
struct SettingsInForce {
    /// What a setting comes to: its text, or the content of the files that it names.
    private var values: [String: [String]] = [:]

    /// - Throws: ``SettingsError`` when a setting or a file that it names cannot be read.
    init(_ reader: SettingsReader, _ scope: SettingsReader.Scope) throws(SettingsError) {
        let secrets = Set(Settings.secrets.map(\.name))
        for setting in scope.settings where !secrets.contains(setting.name) {
            if let text = try reader.text(of: setting) { values[setting.name] = [text] }
        }
        if case .worker = scope {
            for root in try reader.required(Settings.extraRoots) {
                values[Settings.extraRoots.name, default: []].append(try Self.content(of: root.path, named: Settings.extraRoots.name))
            }
            let headers = try reader.webhookHeaders().sorted { $0.key < $1.key }
            values[Settings.webhookHeadersDirectory.name, default: []] += headers.flatMap { [$0] + $1.flatMap { [$0.name, $0.value] } }
            let keys = try reader.apiKeys()?.keys.map { "\($0.id) \($0.fingerprint)" } ?? []
            values[Settings.apiKeysDirectory.name, default: []] += keys
        }
        if case .console = scope {
            if let path = try reader.optional(Settings.consoleUsersFile) {
                values[Settings.consoleUsersFile.name, default: []].append(
                    try Self.content(of: path, named: Settings.consoleUsersFile.name)
                )
            }
            return
        }
        if let found = try reader.sharedSecrets()?.secrets {
            values[Settings.sharedSecrets.name] = found.counts.keys.sorted().flatMap { [$0] + found.secrets(of: $0) }
        }
    }

    /// The names of the settings that differ.
    func differences(from other: SettingsInForce) -> Set<String> {
        Set(values.keys).union(other.values.keys).filter { values[$0] != other.values[$0] }
    }

    /// Takes the values of these settings from `new`.
    mutating func take(_ names: Set<String>, from new: SettingsInForce) {
        for name in names { values[name] = new.values[name] }
    }

    private static func content(of path: String, named name: String) throws(SettingsError) -> String {
        do throws(ReadableFile.Unreadable) {
            return String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self)
        } catch {
            throw SettingsError(["\(name): \(path) cannot be read: \(error)"])
        }
    }
}

/// A value that is replaced when the settings are read again; its users ask for the current one at each use.
final class Reloadable<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    var current: Value { value.withLock { $0 } }

    func replace(with new: Value) {
        value.withLock { $0 = new }
    }

    /// Replaces the value by one that is made of it.
    func update(_ change: (Value) -> Value) {
        value.withLock { $0 = change($0) }
    }
}
