extension ConfigurationFile {
    /// Reads lines such as `APPSTORE_INBOX_LISTEN="127.0.0.1:8080"`, as a shell and systemd do where no value needs an escape. Of several
    /// lines for one setting the last one counts.
    ///
    /// - Throws: ``SettingsError`` that names each wrong line by its number. Values are not part of it.
    static func variables(in text: String, _ path: String) throws(SettingsError) -> [String: String] {
        let names = Dictionary(uniqueKeysWithValues: Settings.all.map { ($0.variable, $0.name) })
        var values: [String: String] = [:]
        var problems: [String] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = SettingValue.trimmed(line)
            guard let first = line.first, first != "#", first != ";" else { continue }
            let place = "\(path), line \(index + 1)"
            guard let equals = line.firstIndex(of: "=") else {
                problems.append("\(place): is not NAME=value")
                continue
            }
            let variable = SettingValue.trimmed(line[..<equals])
            guard let name = names[String(variable)] else {
                problems.append("\(place): \(shown(String(variable))) is not a setting\(meant(String(variable), among: names.keys))")
                continue
            }
            guard let value = unquoted(SettingValue.trimmed(line[line.index(after: equals)...])) else {
                problems.append("\(place): \(variable) has a quote that does not end")
                continue
            }
            values[name] = String(value)
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return values
    }

    /// Without the quotes around it; nil when only one is there.
    private static func unquoted(_ value: Substring) -> Substring? {
        guard let quote = value.first, quote == "\"" || quote == "'" else { return value }
        return value.count > 1 && value.last == quote ? value.dropFirst().dropLast() : nil
    }
}
