import AppStoreVerification
import ServerAPI

/// The values of a daemon's settings, to tell which of them differ after the settings are read again. It holds secrets: never log it.
struct SettingsInForce {
    /// What a setting comes to: its text, or the content of the files that it names.
    private var values: [String: [String]] = [:]

    /// - Throws: ``SettingsError`` when a setting or a file that it names cannot be read.
    init(_ reader: SettingsReader, _ scope: SettingsReader.Scope) throws(SettingsError) {
        let secrets = Set(Settings.secrets.map(\.name))
        for setting in scope.settings where !secrets.contains(setting.name) {
            if let origin = try reader.origin(of: setting) { values[setting.name] = [origin.text] }
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
