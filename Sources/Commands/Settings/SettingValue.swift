import AppStore
import AppStoreVerification
import Feed
import FoundationEssentials
import HTTPServing
import Postgres
import ServerAPI

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
    private static func items(_ text: String) throws(InvalidSettingValue) -> [String] {
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

/// Parsers of the settings for receipts and notifications V1.
extension SettingValue {
    /// Parses `bundleId=secret`, separated by commas or line feeds. An app may have several; the first is used for verifyReceipt.
    static func sharedSecrets(_ text: String) throws(InvalidSettingValue) -> SharedSecrets {
        var secrets: [String: [String]] = [:]
        for item in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
            let item = trimmed(item)
            guard !item.isEmpty else { continue }
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let bundleID = String(trimmed(parts[0]))
            guard parts.count == 2, isBundleID(bundleID), case let secret = trimmed(parts[1]), !secret.isEmpty else {
                throw InvalidSettingValue(expectation: "must be bundleId=secret, separated by commas or line feeds")
            }
            secrets[bundleID, default: []].append(String(secret))
        }
        guard !secrets.isEmpty else { throw InvalidSettingValue(expectation: "holds no secret: must be bundleId=secret") }
        return SharedSecrets(secrets)
    }

    /// Parses an app's secrets, one a line; empty lines are ignored.
    static func secrets(inLines text: String) throws(InvalidSettingValue) -> [String] {
        let secrets = text.split(whereSeparator: \.isNewline).map(trimmed).filter { !$0.isEmpty }
        guard !secrets.isEmpty else { throw InvalidSettingValue(expectation: "holds no secret") }
        return secrets.map { String($0) }
    }

    /// A URL to which secrets may be sent: HTTPS, or HTTP to loopback.
    static func verifyReceiptURL(_ text: String) throws(InvalidSettingValue) -> String {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil,
            url.scheme == "https" || url.scheme == "http" && loopbacks.contains(host)
        else { throw InvalidSettingValue(expectation: "must be https://host/path, or http to this machine (127.0.0.1, [::1], localhost)") }
        return text
    }

    private static let loopbacks: Set<String> = ["127.0.0.1", "::1", "[::1]", "localhost"]

    /// Paths, separated by commas.
    static func paths(_ text: String) throws(InvalidSettingValue) -> [String] {
        text.isEmpty ? [] : try items(text)
    }

    /// The text without white space at its ends.
    static func trimmed(_ text: Substring) -> Substring {
        let end = text.lastIndex { !$0.isWhitespace }.map { text.index(after: $0) } ?? text.startIndex
        return text[..<end].drop(while: \.isWhitespace)
    }
}

/// Parsers of the settings for the App Store Server API.
extension SettingValue {
    /// The issuer, a UUID, of each bundle id.
    static func issuers(_ text: String) throws(InvalidSettingValue) -> [String: String] {
        var issuers: [String: String] = [:]
        for item in text.split(separator: ",") {
            let parts = trimmed(item).split(separator: "=", omittingEmptySubsequences: false).map { String(trimmed($0)) }
            guard parts.count == 2, isBundleID(parts[0]), let issuer = APIKeyFile.uuid(parts[1]),
                issuers.updateValue(issuer, forKey: parts[0]) == nil
            else {
                throw InvalidSettingValue(expectation: "must be bundleId=ISSUER, separated by commas, each issuer a UUID, each app once")
            }
        }
        return issuers
    }

    /// Where tokens may be sent: HTTPS, or HTTP to this machine. Without a path.
    static func serverAPIURL(_ text: String) throws(InvalidSettingValue) -> String {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.query == nil, url.fragment == nil, url.path.isEmpty || url.path == "/",
            url.scheme == "https" || url.scheme == "http" && loopbacks.contains(host)
        else { throw InvalidSettingValue(expectation: "must be https://host, or http to this machine (127.0.0.1, [::1], localhost)") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}

/// Parsers of the settings for webhooks.
extension SettingValue {
    /// One or two lines, the current text first.
    static func webhookMasters(_ text: String) throws(InvalidSettingValue) -> WebhookMasters {
        do {
            return try WebhookMasters(text)
        } catch {
            throw InvalidSettingValue(expectation: "\(error)")
        }
    }

    static func networkPolicy(_ text: String) throws(InvalidSettingValue) -> NetworkPolicy {
        guard let policy = NetworkPolicy(text) else {
            throw InvalidSettingValue(expectation: "must be any, public, or networks such as 10.0.0.0/8,fd00::/8")
        }
        return policy
    }

    static func proxy(_ text: String) throws(InvalidSettingValue) -> ProxyAddress {
        guard let proxy = ProxyAddress(text) else {
            throw InvalidSettingValue(expectation: "must be http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
        }
        return proxy
    }
}
