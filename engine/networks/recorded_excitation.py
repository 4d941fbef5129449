"""The excitation of a recording: what its sound is without the envelope, at its own pitch or moved to another.

    frames --+--> as they are, where the pitch stays --------------------------------------------------------+--> frames
             +--> / response of their envelope --> periods, read faster or slower, added at another one------+

Filtered by the wanted envelope over what they still have, they keep what pulses cannot have: breath, growl, rasp,
attacks and the noise between the harmonics. Where the pitch stays, this is spectral differential filtering (Kobayashi
et al., 2014, "Statistical singing voice conversion with direct waveform modification based on the spectrum
differential"). Elsewhere it is pitch-synchronous overlap-add (Moulines and Charpentier, 1990) of the flat excitation
(engine/networks/psola.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from engine.networks.band_filters import Mix, log_gain, response
from engine.networks.psola import READ_TIMES, moved, passed
from engine.networks.spectral_frames import BINS, blocks_of, cut_frames, frame_spectra, join_pieces, pieces_of

_SAME_SEMITONES, _SHORTEST_RUN = 0.02, 20  # less is no other pitch, if it lasts for so many frames
_KEPT_SEMITONES, _FADE_SEMITONES = 8.0, 1.5  # how far it can be moved; beyond, pulses are as good (EXPERIMENTS)
_BESIDE = 5  # frames around one, of which the one that is read fastest says what would fold back


@dataclass(frozen=True)
class RecordedExcitation:
    """The excitation of a recording where it is voiced.

    frames: samples (..., frames, WINDOW), of unit power density without their `envelope` (..., frames, BANDS), in
    nepers, and its phase; hertz: float32 (..., frames), their pitch; share: (..., frames, BANDS), 0..1, that replaces
    pulses and noise; highest: likewise, nepers, beyond which no envelope lifts it; table: that of
    `band_filters.filter_table`; reach: (..., frames), up to which share of half the rate they have sound, if not all.
    """

    frames: Tensor
    hertz: np.ndarray
    share: Tensor
    highest: Tensor
    envelope: Tensor
    table: Tensor
    reach: Tensor | None = None

    def __getitem__(self, frames: slice) -> "RecordedExcitation":
        rows = (curve[..., frames, :] for curve in (self.frames, self.share, self.highest, self.envelope))
        own, share, highest, envelope = rows
        reach = None if self.reach is None else self.reach[..., frames]
        return RecordedExcitation(own, self.hertz[..., frames], share, highest, envelope, self.table, reach)

    @staticmethod
    def stacked(windows: Sequence["RecordedExcitation"]) -> "RecordedExcitation":
        """Return those of windows of equal length as a batch; hertz: (batch, frames)."""
        frames, shares, highest, envelopes = (
            torch.stack(one) for one in zip(*((w.frames, w.share, w.highest, w.envelope) for w in windows), strict=True)
        )
        reach = None
        if any(one.reach is not None for one in windows):
            reach = torch.stack([torch.ones_like(w.share[:, 0]) if w.reach is None else w.reach for w in windows])
        hertz = np.stack([one.hertz for one in windows])
        return RecordedExcitation(frames, hertz, shares, highest, envelopes, windows[0].table, reach)

    def share_of_bins(self) -> Tensor:
        """Return the share (..., frames, BINS) that replaces pulses and noise in each bin."""
        share = log_gain(self.share, self.table)
        if self.reach is None:
            return share
        highest = (BINS - 1) * self.reach[..., None]
        return share * (highest + 1 - torch.arange(BINS, device=share.device)).clamp(0.0, 1.0)

    def at_pitch(self, hertz: np.ndarray, start_cycles: float = 0.0, in_step: bool = False) -> "RecordedExcitation":
        """Return the excitation at another pitch (frames,), its periods where those of pulses with that start are.

        in_step: stretches whose pitch stays are left as they are, and what is between them is in step with them.
        """
        ratio = hertz / self.hertz
        semitones = 12 * np.abs(np.log2(ratio))
        if semitones.max() <= _SAME_SEMITONES:
            return self
        kept = ((_KEPT_SEMITONES + _FADE_SEMITONES - semitones) / _FADE_SEMITONES).clip(0.0, 1.0)
        if not kept.any():
            return replace(self, hertz=hertz, share=torch.zeros_like(self.share))  # moving it would be for nothing
        stays = _long_runs(semitones <= _SAME_SEMITONES) & in_step
        samples = moved(self._flat(ratio), self.hertz, hertz, self.share.amax(1), start_cycles, stays)
        frames, envelope = cut_frames(samples, len(hertz)), torch.zeros_like(self.envelope)
        if stays.any():
            stay = self._placed(stays)[:, None] > 0.0
            frames, envelope = torch.where(stay, self.frames, frames), torch.where(stay, self.envelope, envelope)
        share = self.share * self._placed(kept)[:, None]
        reach = self._placed(ratio) if ratio.min() < 1.0 else None
        return replace(self, frames=frames, hertz=hertz, share=share, envelope=envelope, reach=reach)

    def _flat(self, ratio: np.ndarray) -> Tensor:
        """Return the flat excitation as `moved` reads it, without what would fold back when the periods of each frame
        are read `ratio` (frames,) times as fast."""
        speed = self._placed(ndimage.maximum_filter1d(ratio, _BESIDE).clip(1.0))

        def pieces_in(block: slice) -> Tensor:
            parts = response(-self.envelope[block], self.table, passed(speed[block]))
            return pieces_of(Mix(frame_spectra(self.frames[block]), *parts).spectra(), READ_TIMES)[None]

        blocks = blocks_of(len(ratio), self.frames.device)
        return join_pieces(map(pieces_in, blocks), len(ratio), READ_TIMES)[0]

    def _placed(self, curve: np.ndarray) -> Tensor:
        return torch.from_numpy(curve.astype(np.float32)).to(self.frames.device)


def _long_runs(chosen: np.ndarray) -> np.ndarray:
    """Return the chosen frames that have enough like them beside them, bool (frames,)."""
    return ndimage.binary_opening(chosen, np.ones(min(_SHORTEST_RUN, len(chosen))))
