import AppStore
import AppStoreVerification
import Randomness
import Testing

/// A notification that is changed anywhere after signing is refused without a crash.
struct MutationTests {
    private let store: TestStore
    private let genuine: [UInt8]
    private let seed = UInt64.random(in: .min ... .max)

    init() throws {
        store = try TestStore.genuine.get()
        genuine = Array(try store.sign(try Payloads.full(store)).utf8)
    }

    @Test(arguments: [true, false])
    func `a changed byte is detected at any position`(isRemembered: Bool) async throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = Verifier(policy: try store.policy())
        if isRemembered { #expect(isValid(genuine, verifier)) }
        // Changes one byte in each step of seven, so that every region is covered.
        for start in stride(from: 0, to: genuine.count, by: 7) {
            await Task.yield()
            var bytes = genuine
            let index = min(start + Int.random(in: 0..<7, using: &generator), bytes.count - 1)
            bytes[index] ^= UInt8.random(in: 1...255, using: &generator)
            #expect(!isValid(bytes, verifier), "byte \(index), seed \(seed)")
        }
    }

    @Test func `a changed byte in the decoded parts is detected at any position`() async throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = Verifier(policy: try store.policy())
        let parts = genuine.split(separator: UInt8(ascii: "."))
        for part in parts.indices {
            let decoded = try #require(Base64URL.decode(parts[part]))
            for _ in 0..<400 {
                await Task.yield()
                var bytes = decoded
                bytes[Int.random(in: bytes.indices, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
                var changed = parts
                changed[part] = Base64URL.encode(bytes)[...]
                #expect(!isValid(Array(changed.joined(separator: Array(".".utf8))), verifier), "part \(part), seed \(seed)")
            }
        }
    }

    @Test func `removed and duplicated ranges are detected`() async throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = Verifier(policy: try store.policy())
        for _ in 0..<500 {
            await Task.yield()
            let first = Int.random(in: 0..<genuine.count, using: &generator)
            let second = Int.random(in: first..<genuine.count, using: &generator) + 1
            let without = Array(genuine[..<first] + genuine[second...])
            let doubled = Array(genuine[..<second] + genuine[first...])
            #expect(!isValid(without, verifier) && !isValid(doubled, verifier), "\(first)..<\(second), seed \(seed)")
        }
    }

    @Test func `random bytes are refused`() async throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = Verifier(policy: try store.policy())
        for _ in 0..<500 {
            await Task.yield()
            let count = Int.random(in: 0..<300, using: &generator)
            let noise = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            #expect(!isValid(noise, verifier), "seed \(seed)")
        }
    }

    private func isValid(_ jws: [UInt8], _ verifier: Verifier) -> Bool {
        if case .valid = verifier.verifyNotification(jws[...], receivedAt: TestStore.now) { true } else { false }
    }
}
