import AppStore
import AppStoreVerification
import HTTPServing
import Postgres

/// Parsers of the settings' text. An error says what was expected and never contains the text, which may be secret.
enum SettingValue {
    static func nonEmpty(_ text: String) throws(InvalidSettingValue) -> String {
        guard !text.isEmpty else { throw InvalidSettingValue(expectation: "must not be empty") }
        return text
    }

    /// Anything that libpq takes.
    static func connectionString(_ text: String) throws(InvalidSettingValue) -> String {
        do {
            _ = try ConnectionOptions(nonEmpty(text))
            return text
        } catch let error as InvalidSettingValue {
            throw error
        } catch {
            throw InvalidSettingValue(expectation: "\(error)")
        }
    }

    static func toggle(_ text: String) throws(InvalidSettingValue) -> Bool {
        switch text {
        case "on", "true", "yes", "1": true
        case "off", "false", "no", "0": false
        default: throw InvalidSettingValue(expectation: "must be on or off")
        }
    }

    static func address(_ text: String) throws(InvalidSettingValue) -> ListenAddress {
        do {
            return try ListenAddress(text)
        } catch {
            guard text.mayHoldSecret else { throw InvalidSettingValue(expectation: error.message, namesValue: true) }
            throw InvalidSettingValue(expectation: "must be HOST:PORT, [IPv6]:PORT or unix:PATH")
        }
    }

    /// An address, or nil for `off`.
    static func addressOrOff(_ text: String) throws(InvalidSettingValue) -> ListenAddress? {
        text == "off" ? nil : try address(text)
    }

    static func integer(in range: ClosedRange<Int>) -> @Sendable (String) throws(InvalidSettingValue) -> Int {
        { text throws(InvalidSettingValue) in
            guard let number = Int(text), range.contains(number) else {
                throw InvalidSettingValue(expectation: "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }

    static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(
        _ type: Choice.Type
    ) -> @Sendable (String) throws(InvalidSettingValue) -> Choice where Choice.RawValue == String {
        let choices = Array(Choice.allCases)
        return { text throws(InvalidSettingValue) in
            guard let choice = choices.first(where: { $0.rawValue == text }) else {
                throw InvalidSettingValue(expectation: "must be one of \(choices.map(\.rawValue).joined(separator: ", "))")
            }
            return choice
        }
    }

    /// `bundleId[:appAppleId]`, separated by commas; each bundle once.
    static func apps(_ text: String) throws(InvalidSettingValue) -> [App] {
        var apps: [App] = []
        for item in try items(text) {
            let parts = item.split(separator: ":", omittingEmptySubsequences: false)
            let bundleID = String(parts[0])
            guard parts.count <= 2, isBundleID(bundleID) else {
                throw InvalidSettingValue(expectation: "must be bundleId or bundleId:appAppleId, separated by commas")
            }
            guard Int64(bundleID) == nil else {
                let expectation = "\(bundleID) is the Apple id of an app: write its bundle id, as in com.example.shop:\(bundleID)"
                throw InvalidSettingValue(expectation: expectation, namesValue: true)
            }
            var appAppleID: Int64?
            if parts.count == 2 {
                guard let number = Int64(parts[1]), number > 0 else {
                    throw InvalidSettingValue(expectation: "the appAppleId behind \(bundleID) must be a number above 0")
                }
                appAppleID = number
            }
            guard !apps.contains(where: { $0.bundleID == bundleID }) else {
                throw InvalidSettingValue(expectation: "names \(bundleID) twice")
            }
            apps.append(App(bundleID: bundleID, appAppleID: appAppleID))
        }
        return apps
    }

    /// App Store environments, separated by commas.
    static func environments(_ text: String) throws(InvalidSettingValue) -> Set<AppStoreEnvironment> {
        var environments: Set<AppStoreEnvironment> = []
        for item in try items(text) { environments.insert(try environment(item)) }
        return environments
    }

    /// `PATH[:Environment[+Environment]]`, separated by commas; Sandbox where no environment is named.
    static func extraRoots(_ text: String) throws(InvalidSettingValue) -> [ExtraRoot] {
        guard !text.isEmpty else { return [] }
        var roots: [ExtraRoot] = []
        for item in try items(text) {
            guard let colon = item.lastIndex(of: ":") else {
                roots.append(ExtraRoot(path: item, environments: [.sandbox]))
                continue
            }
            var environments: Set<AppStoreEnvironment> = []
            for name in item[item.index(after: colon)...].split(separator: "+", omittingEmptySubsequences: false) {
                environments.insert(try environment(String(name)))
            }
            guard colon > item.startIndex else { throw InvalidSettingValue(expectation: "must be PATH or PATH:Environment[+Environment]") }
            roots.append(ExtraRoot(path: String(item[..<colon]), environments: environments))
        }
        return roots
    }

    private static func environment(_ name: String) throws(InvalidSettingValue) -> AppStoreEnvironment {
        let environment = AppStoreEnvironment(rawValue: name)
        guard environment == .production || environment == .sandbox else {
            throw InvalidSettingValue(expectation: "an environment must be Production or Sandbox, in this spelling")
        }
        return environment
    }

    /// The items between commas, without the spaces around them.
    static func items(_ text: String) throws(InvalidSettingValue) -> [String] {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item in
            String(item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        guard items.allSatisfy({ !$0.isEmpty }) else { throw InvalidSettingValue(expectation: "has an empty item before or after a comma") }
        return items
    }

    /// Whether the text is a bundle id as Apple documents CFBundleIdentifier. An asterisk is refused, since it would not be a wildcard, and the
    /// form of a shared secret, since bundle ids are printed.
    static func isBundleID(_ text: String) -> Bool {
        !text.isEmpty && !(text.utf8.count == 32 && text.allSatisfy(\.isHexDigit))
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-._".utf8.contains($0) }
    }
}
