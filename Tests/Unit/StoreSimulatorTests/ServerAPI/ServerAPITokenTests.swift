import AppStore
import Foundation
import OpenSSL
import StoreSimulator
import StrictJSON
import Testing

/// Who may call the simulated API.
struct ServerAPITokenTests {
    private let target = "/inApps/v1/notifications/test"

    /// Asks with a token and expects 401 without a body for one reason.
    private func expect(_ flaw: ServerAPITokenFlaw, _ token: String, _ scene: APIScene, _ environment: AppStoreEnvironment = .production)
        throws
    {
        var scene = scene
        let answer = try scene.ask("POST", target, in: environment, token: token)
        #expect(answer.status == 401 && answer.reply.body.isEmpty && !answer.reply.headers.contains { $0.name == "content-type" })
        #expect(scene.api.calls.map(\.flaw) == [flaw])
        #expect(scene.api.limits.uses(of: .testNotification, at: APIScene.place).isEmpty)
    }

    @Test func `a good token is accepted until it expires`() throws {
        var scene = try APIScene()
        let token = try scene.key.token(for: SimulatedApp.test.bundleID, at: scene.now)
        #expect(try scene.ask("POST", target, token: token).status == 200)
        scene.now = scene.now.advanced(by: .seconds(299))
        #expect(try scene.ask("POST", target, token: token).status == 200)
        scene.now = scene.now.advanced(by: .seconds(1))
        #expect(try scene.ask("POST", target, token: token).status == 401)
        #expect(scene.api.calls.map(\.flaw) == [nil, nil, .expired])
    }

    @Test(arguments: ["alg", "kid", "iss", "aud", "bid", "iat", "exp"])
    func `each wrong member of a token is refused`(name: String) throws {
        let scene = try APIScene()
        var (header, claims) = (scene.key.header, scene.key.claims(for: SimulatedApp.test.bundleID, at: scene.now))
        let flaw: ServerAPITokenFlaw
        switch name {
        case "alg": (header["alg"], flaw) = ("none", .algorithm)
        case "kid": (header["kid"], flaw) = ("AAAAAAAAAA", .unknownKey)
        case "iss": (claims["iss"], flaw) = ("00000000-0000-4000-8000-000000000000", .issuer)
        case "aud": (claims["aud"], flaw) = ("appstore", .audience)
        case "bid": (claims["bid"], flaw) = ("com.example.other", .app)
        case "iat": (claims["iat"], flaw) = (.integer(scene.now.millisecondsSince1970 / 1000 + 1), .issuedLater)
        default: (claims["exp"], flaw) = (.integer(scene.now.millisecondsSince1970 / 1000 + 3601), .lifetime)
        }
        try expect(flaw, try scene.key.token(header: header, claims: claims), scene)
        claims["iat"] = "soon"
        if name == "iat" { try expect(.claims, try scene.key.token(header: header, claims: claims), scene) }
    }

    @Test func `a signature in DER, of another key or over other claims is refused`() throws {
        let scene = try APIScene()
        let good = try scene.key.token(for: SimulatedApp.test.bundleID, at: scene.now)
        let other = try ServerAPIKey.generate(seed: 1).token(for: SimulatedApp.test.bundleID, at: scene.now)
        #expect(try ServerAPIKey.generate(seed: 1).id == scene.key.id)
        try expect(.signature, other, scene)
        let parts = good.split(separator: ".")
        let longer = String(decoding: Base64URL.encode([0x30, 0x46] + (Base64URL.decode(Array(parts[2].utf8)) ?? [])), as: UTF8.self)
        try expect(.signature, "\(parts[0]).\(parts[1]).\(longer)", scene)
        try expect(.malformed, "\(parts[0]).\(parts[1])", scene)
        try expect(.malformed, "\(good).", scene)
    }

    @Test func `a tolerance accepts a clock that is ahead`() throws {
        var scene = try APIScene()
        let token = try scene.key.token(for: SimulatedApp.test.bundleID, at: scene.now.advanced(by: .seconds(5)))
        #expect(try scene.ask("POST", target, token: token).status == 401)
        scene.api.options.clockTolerance = .seconds(5)
        #expect(try scene.ask("POST", target, token: token).status == 200)
    }

    @Test func `a revoked key is refused, and the account's other key is not`() throws {
        var scene = try APIScene()
        let second = try ServerAPIKey.generate(issuer: scene.key.issuer, seed: 2)
        scene.api.keys.append(second)
        scene.api.keys[0].isRevoked = true
        let token = try second.token(for: SimulatedApp.test.bundleID, at: scene.now)
        try expect(.revokedKey, try scene.key.token(for: SimulatedApp.test.bundleID, at: scene.now), scene)
        #expect(try scene.ask("POST", target, token: token).status == 200)
        let stranger = try ServerAPIKey.generate(seed: 3)
        scene = try APIScene()
        scene.api.keys.append(stranger)
        try expect(.app, try stranger.token(for: SimulatedApp.test.bundleID, at: scene.now), scene)
    }

    @Test func `an app without a release gets 401 in Production only`() throws {
        var scene = try APIScene()
        scene.api.apps[0].isReleased = false
        #expect(try scene.ask("POST", target, in: .sandbox).status == 200)
        #expect(try scene.ask("POST", target).status == 401)
        #expect(scene.api.calls.map(\.flaw) == [nil, .unreleased])
    }

    @Test func `a key is written as Apple names it`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "api-keys-\(UUID())").path
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
        let key = try ServerAPIKey.generate(seed: 4)
        let path = try key.write(to: folder)
        #expect(path == "\(folder)/\(key.issuer)/SubscriptionKey_\(key.id).p8")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let read = try PrivateKey(pem: String(contentsOfFile: path, encoding: .utf8))
        #expect(key.publicKey.verifyES256(signature: try read.signES256([1]), message: [1]))
        #expect(!"\(key)".contains("PRIVATE"))
    }
}
