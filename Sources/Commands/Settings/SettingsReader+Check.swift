import AppStoreVerification
import ServerAPI

/// What `--check-config` says.
extension SettingsReader {
    /// A daemon whose settings are checked.
    enum Scope: Sendable {
        case ingest, worker, console

        var settings: [SettingDescription] {
            switch self {
            case .ingest: Settings.ingest
            case .worker: Settings.worker
            case .console: Settings.console
            }
        }
    }

    /// A line for each setting with its effective value, or a redacted secret, and its source.
    ///
    /// - Throws: ``SettingsError`` with everything that a start refuses or warns about.
    func check(_ scope: Scope) throws(SettingsError) -> String {
        var problems: [String] = []
        do throws(SettingsError) {
            switch scope {
            case .ingest: _ = try IngestSettings(self)
            case .worker: _ = try WorkerSettings(self)
            case .console: _ = try ConsoleSettings(self)
            }
        } catch {
            problems = error.problems
        }
        problems += misspeltVariables
        if scope != .console { problems += strangeSecrets }
        if case .worker = scope { problems += strangeIssuers }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return try report(scope)
    }

    /// A sentence for each variable with this program's prefix that is not a setting. A start only warns of it.
    var misspeltVariables: [String] {
        unknownVariables.map { name in
            let meant = name.nearest(among: Settings.all.map(\.variable))
            return "\(name) is not a setting" + (meant.map { ": did you mean \($0)?" } ?? "")
        }
    }

    /// A sentence for each app that has a shared secret and is not configured. A start only warns of it.
    var strangeSecrets: [String] {
        guard let apps = valid(Settings.apps) else { return [] }
        let found: FoundSecrets?
        // The error is among the problems of the settings.
        do { found = try sharedSecrets() } catch { return [] }
        guard let found else { return [] }
        let known = Set(apps.map(\.bundleID))
        return found.secrets.counts.keys.filter { !known.contains($0) }.sorted().map { bundleID in
            "\(found.place): \(bundleID) has a shared secret and is not one of the apps"
        }
    }

    private func report(_ scope: Scope) throws(SettingsError) -> String {
        var rows: [[String]] = []
        for setting in scope.settings {
            if setting.name == Settings.sharedSecrets.description.name {
                if let found = try sharedSecrets() { rows.append([setting.name, found.summary, found.place]) }
                continue
            }
            if setting.name == Settings.apiKeysDirectory.name {
                guard let found = try apiKeys() else { continue }
                rows += found.keys.map {
                    ["api-keys", "issuer \($0.id.issuer) key \($0.id.keyID) SHA-256 \($0.fingerprint)", found.place]
                }
                continue
            }
            guard let origin = try origin(of: setting) else { continue }
            rows.append([setting.name, setting.isSecret ? "(secret)" : origin.text.isEmpty ? "(none)" : origin.text, origin.place])
        }
        return Columns.lines(rows).joined(separator: "\n")
    }
}
