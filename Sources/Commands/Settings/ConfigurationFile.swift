import Configuration
import FoundationEssentials

/// A file with settings: a JSON object with a member for each, `{"listen": "127.0.0.1:8080", "apps": ["com.example.app"]}`, or a line for
/// each, `APPSTORE_INBOX_LISTEN=127.0.0.1:8080`.
struct ConfigurationFile {
    private let path: String
    /// The text of each setting, by the setting's name.
    private let values: [String: String]
    private let isJSON: Bool

    /// - Throws: ``SettingsError`` when the file cannot be read, has neither form or has something that is not a setting.
    init(path: String) throws(SettingsError) {
        self.path = path
        let content: [UInt8]
        do throws(ReadableFile.Unreadable) {
            content = try ReadableFile.bytes(at: path)
        } catch {
            throw SettingsError(["\(path) cannot be read: \(error)"])
        }
        isJSON = [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(content.first { $0 > UInt8(ascii: " ") })
        values = isJSON ? try Self.members(in: Data(content), path) : try Self.variables(in: String(decoding: content, as: UTF8.self), path)
    }

    /// Where the value of a setting stands, for messages.
    func place(of setting: SettingDescription) -> String { "\(isJSON ? setting.name : setting.variable) in \(path)" }

    private static func members(in content: Data, _ path: String) throws(SettingsError) -> [String: String] {
        let members: [String: Member]
        do {
            members = try JSONDecoder().decode([String: Member].self, from: content)
        } catch let error as DecodingError {
            throw SettingsError(["\(path): \(Self.explain(error))"])
        } catch {
            throw SettingsError(["\(path): is not JSON"])
        }
        let known = Settings.all.map(\.name)
        let unknown = members.keys.filter { !known.contains($0) }.sorted()
        guard unknown.isEmpty else {
            throw SettingsError(unknown.map { "\(path): \(Self.shown($0)) is not a setting\(Self.meant($0, among: known))" })
        }
        return members.mapValues(\.text)
    }

    /// The file as a source of swift-configuration.
    var provider: InMemoryProvider {
        InMemoryProvider(
            name: path,
            values: Dictionary(
                uniqueKeysWithValues: values.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: true)) }
            )
        )
    }

    /// The name of a member, unless it may be a connection string in the wrong place.
    private static func shown(_ name: String) -> String {
        name.allSatisfy { $0.isLetter || $0 == "-" || $0 == "_" } ? name : "a member, whose name is not shown,"
    }

    private static func meant(_ name: String, among names: some Sequence<String>) -> String {
        name.nearest(among: names).map { ": did you mean \($0)?" } ?? ""
    }

    private static func explain(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(_, let context) where context.codingPath.isEmpty: "must hold one JSON object"
        case .typeMismatch(_, let context):
            "\(shown(context.codingPath[0].stringValue)) must be text, a number, true or false, or a list of texts"
        default: "is not JSON"
        }
    }

    private struct Member: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try Self.decode(Bool.self, container) {
                text = value ? "on" : "off"
            } else if let value = try Self.decode(Int.self, container) {
                text = String(value)
            } else if let value = try Self.decode([String].self, container) {
                text = value.joined(separator: ",")
            } else {
                text = try container.decode(String.self)
            }
        }

        /// Nil when the member is of another type; the next type is tried then.
        private static func decode<T: Decodable>(_ type: T.Type, _ container: any SingleValueDecodingContainer) throws -> T? {
            do {
                return try container.decode(type)
            } catch DecodingError.typeMismatch, DecodingError.dataCorrupted {
                return nil
            }
        }
    }

    /// Reads lines such as `APPSTORE_INBOX_LISTEN="127.0.0.1:8080"`, as a shell and systemd do where no value needs an escape. Of several
    /// lines for one setting the last one counts.
    ///
    /// - Throws: ``SettingsError`` that names each wrong line by its number. Values are not part of it.
    private static func variables(in text: String, _ path: String) throws(SettingsError) -> [String: String] {
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
