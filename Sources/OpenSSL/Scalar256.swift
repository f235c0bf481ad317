/// A number below the order n of P-256's base point (SEC 2 §2.4.2), for what is done with the numbers of a signature. Nothing here is
/// constant-time: verification has no secrets.
struct Scalar256: Hashable, Sendable {
    /// From the least significant limb on.
    private var a, b, c, d: UInt64

    private init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        (self.a, self.b, self.c, self.d) = (a, b, c, d)
    }

    private static let zero = Scalar256(0, 0, 0, 0)
    private static let one = Scalar256(1, 0, 0, 0)
    private static let order = Scalar256(0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, 0xffff_ffff_ffff_ffff, 0xffff_ffff_0000_0000)
    /// -1/n modulo 2^64.
    private static let negativeInverseOfOrder: UInt64 = 0xccd1_c8aa_ee00_bc4f

    /// Reads 32 bytes, most significant first.
    init(bigEndian bytes: some Collection<UInt8>) {
        var limbs: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in bytes.enumerated() { limbs[3 - index / 8] = limbs[3 - index / 8] << 8 | UInt64(byte) }
        self.init(limbs[0], limbs[1], limbs[2], limbs[3])
    }

    /// 32 bytes, most significant first.
    var bigEndian: [UInt8] {
        [d, c, b, a].flatMap { limb in (0..<8).map { UInt8(truncatingIfNeeded: limb >> (56 - 8 * $0)) } }
    }

    /// The number whose product with this one is 1 modulo n; this one is in 1 ..< n.
    ///
    /// The binary Euclidean algorithm (Knuth, The Art of Computer Programming, volume 2, 4.5.2) with all factors of two taken at once: four
    /// times as fast as libcrypto's general one, which would be a third of a verification.
    var inverse: Scalar256 {
        // x · self = u and y · self = v modulo n, all the time; u and v are odd after the first line, and their divisor in common is 1.
        var (u, x) = Self.odd(self, .one)
        var (v, y) = (Self.order, Self.zero)
        while u != .one {
            if u.isLess(than: v) {
                (u, v) = (v, u)
                (x, y) = (y, x)
            }
            if v == .one { return y }
            (u, x) = Self.odd(u.subtracting(v).difference, x.subtractingModuloOrder(y))
        }
        return x
    }

    /// Both divided by the largest power of two in the first, the second modulo n.
    private static func odd(_ number: Scalar256, _ other: Scalar256) -> (Scalar256, Scalar256) {
        var (number, other) = (number, other)
        while number.a & 1 == 0 {
            let count = min(number.a.trailingZeroBitCount, 63)
            number = number.shiftedRight(by: count, carrying: 0)
            other = other.dividedModuloOrder(byPowerOfTwo: count)
        }
        return (number, other)
    }

    /// Divided by 2^count modulo n, for count in 1 ... 63: adds the multiple of n that makes it divisible (Montgomery's reduction).
    private func dividedModuloOrder(byPowerOfTwo count: Int) -> Scalar256 {
        let multiple = (a &* Self.negativeInverseOfOrder) & ((1 << UInt64(count)) - 1)
        let n = Self.order
        var sum = Scalar256.zero
        var carry: UInt64 = 0
        (sum.a, carry) = Self.multiplyAdd(multiple, n.a, a, carry)
        (sum.b, carry) = Self.multiplyAdd(multiple, n.b, b, carry)
        (sum.c, carry) = Self.multiplyAdd(multiple, n.c, c, carry)
        (sum.d, carry) = Self.multiplyAdd(multiple, n.d, d, carry)
        return sum.shiftedRight(by: count, carrying: carry)
    }

    /// The low and the high half of x · y + z + carry, which never overflows.
    private static func multiplyAdd(_ x: UInt64, _ y: UInt64, _ z: UInt64, _ carry: UInt64) -> (UInt64, UInt64) {
        var (high, low) = x.multipliedFullWidth(by: y)
        var overflow: Bool
        (low, overflow) = low.addingReportingOverflow(z)
        high &+= overflow ? 1 : 0
        (low, overflow) = low.addingReportingOverflow(carry)
        return (low, high &+ (overflow ? 1 : 0))
    }

    /// Shifted by 1 ... 63 bits, those of `high` coming in.
    private func shiftedRight(by count: Int, carrying high: UInt64) -> Scalar256 {
        let up = 64 - count
        return Scalar256(a >> count | b << up, b >> count | c << up, c >> count | d << up, d >> count | high << up)
    }

    private func isLess(than other: Scalar256) -> Bool { subtracting(other).borrows }

    private func subtractingModuloOrder(_ other: Scalar256) -> Scalar256 {
        let (difference, borrows) = subtracting(other)
        return borrows ? difference.adding(Self.order) : difference
    }

    private func subtracting(_ other: Scalar256) -> (difference: Scalar256, borrows: Bool) {
        var result = self
        var borrow: UInt64 = 0
        (result.a, borrow) = Self.subtract(a, other.a, borrow)
        (result.b, borrow) = Self.subtract(b, other.b, borrow)
        (result.c, borrow) = Self.subtract(c, other.c, borrow)
        (result.d, borrow) = Self.subtract(d, other.d, borrow)
        return (result, borrow != 0)
    }

    private static func subtract(_ x: UInt64, _ y: UInt64, _ borrow: UInt64) -> (UInt64, UInt64) {
        let (once, first) = x.subtractingReportingOverflow(y)
        let (twice, second) = once.subtractingReportingOverflow(borrow)
        return (twice, first || second ? 1 : 0)
    }

    /// The sum modulo 2^256.
    private func adding(_ other: Scalar256) -> Scalar256 {
        var result = self
        var carry: UInt64 = 0
        (result.a, carry) = Self.multiplyAdd(1, other.a, a, carry)
        (result.b, carry) = Self.multiplyAdd(1, other.b, b, carry)
        (result.c, carry) = Self.multiplyAdd(1, other.c, c, carry)
        (result.d, _) = Self.multiplyAdd(1, other.d, d, carry)
        return result
    }
}
