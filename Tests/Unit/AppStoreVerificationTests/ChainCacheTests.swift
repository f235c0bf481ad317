import AppStore
import StrictJSON
import Testing

@testable import AppStoreVerification

struct ChainCacheTests {
    private let store: TestStore
    private let cache = ChainCache(limit: 2)
    private let verifier: SignatureVerifier

    init() throws {
        store = try TestStore.genuine.get()
        verifier = SignatureVerifier(roots: [store.root], cache: cache)
    }

    @Test func `a genuine signature caches its chain once`() throws {
        for _ in 0..<3 { try verify(Payloads.notification()) }
        #expect(cache.count == 1)
        let header = Base64URL.encode(JSONSerializer.serialize(store.header))
        #expect(cache.chain(for: header, at: TestStore.notBefore)?.anchor == store.root)
    }

    @Test func `hits and misses are counted`() throws {
        for _ in 0..<3 { try verify(Payloads.notification()) }
        #expect((cache.counts.hits, cache.counts.misses) == (2, 1))
    }

    @Test func `a cached chain is checked against each signedDate`() throws {
        try verify(Payloads.notification())
        let header = Base64URL.encode(JSONSerializer.serialize(store.header))
        #expect(cache.chain(for: header, at: TestStore.notBefore) != nil && cache.chain(for: header, at: TestStore.notAfter) != nil)
        #expect(cache.chain(for: header, at: TestStore.notBefore - 1) == nil && cache.chain(for: header, at: TestStore.notAfter + 1) == nil)
        let late = Payloads.notification().with("signedDate", .integer((TestStore.notAfter + 1) * 1000))
        let flaw = #expect(throws: Flaw.self) { try verify(late) }
        #expect(flaw?.reason == .certificateExpired)
        try verify(Payloads.notification().with("signedDate", .integer(TestStore.notAfter * 1000 + 999)))
    }

    @Test func `a header that differs in one byte is another entry`() throws {
        try verify(Payloads.notification())
        var header = Base64URL.encode(JSONSerializer.serialize(store.header))
        header[header.count - 1] ^= 1
        #expect(cache.chain(for: header, at: TestStore.notBefore) == nil)
    }

    @Test func `a forged JWS is not cached`() throws {
        let forged = try store.sign(Payloads.notification()).replacing(part: 2) { _ in try store.sign([]).part(2) }
        #expect(throws: Flaw.self) { try verifier.verify(Array(forged.utf8)[...], nil) }
        #expect(throws: Flaw.self) { try verifier.verify(Array(try TestStore().sign(Payloads.notification()).utf8)[...], nil) }
        #expect(cache.count == 0)
    }

    @Test func `the least recently used chain is evicted`() throws {
        let headers = (0..<3).map { store.header.with("kid", .string("\($0)")) }
        let keys = headers.map { Base64URL.encode(JSONSerializer.serialize($0)) }
        try verify(Payloads.notification(), headers[0])
        try verify(Payloads.notification(), headers[1])
        try verify(Payloads.notification(), headers[0])
        try verify(Payloads.notification(), headers[2])
        #expect(cache.count == 2)
        #expect(keys.map { cache.chain(for: $0, at: TestStore.notBefore) != nil } == [true, false, true])
    }

    @Test func `a limit of zero disables the cache`() throws {
        let cache = ChainCache(limit: 0)
        let verifier = SignatureVerifier(roots: [store.root], cache: cache)
        _ = try verifier.verify(Array(try store.sign(Payloads.notification()).utf8)[...], nil)
        #expect(cache.count == 0)
    }

    @Test func `concurrent verification shares the cache`() async throws {
        let stores = [store] + (try (0..<3).map { _ in try TestStore() })
        let policy = VerificationPolicy(apps: nil, environments: nil, roots: try stores.map { try TrustedRoot($0.root, environments: nil) })
        let verifier = Verifier(policy: policy, chainCacheLimit: 2)
        let notifications = try stores.map { ArraySlice(try $0.sign(try Payloads.full($0)).utf8) }
        let valid = await withTaskGroup(of: Int.self) { group in
            for start in 0..<8 {
                group.addTask {
                    (0..<40).count {
                        if case .valid = verifier.verifyNotification(notifications[(start + $0) % 4], receivedAt: TestStore.now) {
                            true
                        } else {
                            false
                        }
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(valid == 320)
        #expect(verifier.signatures.cache.count == 2)
    }

    private func verify(_ payload: JSONObject, _ header: JSONObject? = nil) throws {
        _ = try verifier.verify(Array(try store.sign(payload, header: header).utf8)[...], nil)
    }
}
