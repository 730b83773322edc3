extension RandomAccessCollection where Index == Int {
    /// Searches a sorted collection by halves.
    /// - Parameter isAtOrBehind: `false` for all elements before the searched one, and `true` from it on.
    /// - Returns: the index of the first element for which it is `true`; `endIndex` if there is none.
    @inlinable
    package func firstIndex(ascending isAtOrBehind: (Element) -> Bool) -> Int {
        var (lower, upper) = (startIndex, endIndex)
        while lower < upper {
            let middle = lower + (upper - lower) / 2
            if isAtOrBehind(self[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}
