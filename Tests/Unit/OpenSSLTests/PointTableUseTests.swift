import Synchronization
import Testing

@testable import OpenSSL

/// When a table is built, confirmed and dropped.
struct PointTableUseTests {
    private let key: PrivateKey
    private let message = Array("a message".utf8)

    init() throws {
        key = try .generate(.p256)
    }

    @Test func `a key without a table uses libcrypto for good`() {
        var use = PointTableUse()
        for _ in 0..<PointTableUse.usesBeforeTable { #expect(Kind(use.next()) == .libcrypto) }
        #expect(!use.isSettled)
        #expect(Kind(use.next()) == .build)
        // Another thread, meanwhile.
        #expect(Kind(use.next()) == .libcrypto)
        use.finishBuilding(nil)
        #expect(use.isSettled)
        for _ in 0...PointTableUse.usesBeforeTable { #expect(Kind(use.next()) == .libcrypto) }
    }

    @Test(.enabled(if: PointTable.isSupported, "this libcrypto builds no tables"))
    func `libcrypto confirms one of a thousand answers of a table`() throws {
        var use = PointTableUse()
        use.finishBuilding(PointTable(of: key.publicKey.handle))
        for _ in 0..<3 {
            for _ in 1..<PointTableUse.usesPerConfirmation { #expect(Kind(use.next()) == .table) }
            #expect(Kind(use.next()) == .confirmedTable)
        }
        use.drop()
        #expect(Kind(use.next()) == .libcrypto && use.isSettled)
    }

    /// The table of another key stands for one that the memory or an error has damaged.
    @Test(.enabled(if: PointTable.isSupported, "this libcrypto builds no tables"))
    func `a table that contradicts libcrypto is counted and dropped, and the signature refused`() throws {
        let other = try PrivateKey.generate(.p256)
        let forged = try other.signES256(message)
        let genuine = try key.signES256(message)
        let publicKey = key.publicKey
        let wrong = PointTable(of: other.publicKey.handle)
        publicKey.table.withLock { $0.finishBuilding(wrong) }
        let before = PublicKey.tableContradictions
        // Genuine signatures are not lost even so: libcrypto decides what the table does not accept.
        for _ in 1..<PointTableUse.usesPerConfirmation { #expect(publicKey.verifyES256(signature: genuine, message: message[...])) }
        #expect(PublicKey.tableContradictions == before)
        #expect(!publicKey.verifyES256(signature: forged, message: message[...]))
        #expect(PublicKey.tableContradictions == before + 1)
        for _ in 0...PointTableUse.usesPerConfirmation { #expect(!publicKey.verifyES256(signature: forged, message: message[...])) }
        #expect(publicKey.verifyES256(signature: genuine, message: message[...]))
        #expect(PublicKey.tableContradictions == before + 1)
    }

    private enum Kind {
        case libcrypto, build, table, confirmedTable

        init(_ step: PointTableUse.Step) {
            self =
                switch step {
                case .libcrypto: .libcrypto
                case .build: .build
                case .table(_, let isConfirmed): isConfirmed ? .confirmedTable : .table
                }
        }
    }
}
