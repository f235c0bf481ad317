extension SettingsReader {
    /// The settings of one daemon.
    enum Scope: Sendable {
        case ingest, worker

        var settings: [SettingDescription] {
            switch self {
            case .ingest: Settings.ingest
            case .worker: Settings.worker
            }
        }
    }

    /// The text that `--check-config` prints: a line for each setting with its effective value, or a redacted secret, and its source.
    ///
    /// - Throws: ``SettingsError`` as at the daemon's start.
    func report(_ scope: Scope) throws(SettingsError) -> String {
        switch scope {
        case .ingest: _ = try IngestSettings(self)
        case .worker: _ = try WorkerSettings(self)
        }
        var rows: [(name: String, value: String, place: String)] = []
        for setting in scope.settings {
            if setting.name == Settings.sharedSecrets.description.name {
                if let found = try sharedSecrets() { rows.append((setting.name, found.summary, found.place)) }
                continue
            }
            guard let origin = try origin(of: setting) else { continue }
            rows.append((setting.name, setting.isSecret ? "(secret)" : origin.text.isEmpty ? "(none)" : origin.text, origin.place))
        }
        let nameWidth = rows.map(\.name.count).max() ?? 0
        let valueWidth = rows.map(\.value.count).max() ?? 0
        return rows.map { row in
            Self.pad(row.name, to: nameWidth) + "  " + Self.pad(row.value, to: valueWidth) + "  " + row.place
        }.joined(separator: "\n")
    }

    private static func pad(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
